"""uploads: a small service that takes files in, for the demo of fumehood."""

import json
import os
import subprocess
import tempfile

LOCK = os.path.join(tempfile.gettempdir(), "uploads.lock")


def limit():
    """Bytes that one upload may have."""
    return int(os.environ.get("UPLOADS_LIMIT", "1000"))


class Inbox:
    def __init__(self, folder):
        self.folder = folder
        self.log = open(os.path.join(folder, "inbox.log"), "a", encoding="utf-8")

    def take(self, name, content):
        if len(content) > limit():
            raise ValueError("%s is over %d bytes" % (name, limit()))
        with open(LOCK, "w", encoding="utf-8") as lock:
            lock.write(str(os.getpid()))
        with open(os.path.join(self.folder, name), "wb") as f:
            f.write(content)
        print("took", name, file=self.log, flush=True)
        os.remove(LOCK)

    def close(self):
        self.log.close()


def follow(log):
    """Pass the log on, for as long as the service runs."""
    return subprocess.Popen(["tail", "-f", log], stdout=subprocess.DEVNULL)


def settings(path):
    """The settings file, merged into its defaults, and written back."""
    defaults = {"keep_days": 30}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            defaults.update(json.load(f))
    with open(path, "w", encoding="utf-8") as f:
        json.dump(defaults, f)
    return defaults
