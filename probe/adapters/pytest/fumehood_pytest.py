"""fumehood's pytest adapter: tells the looker where each test begins and ends.

The packets stand in PROTOCOL.md. pytest loads this file by PYTEST_PLUGINS; with
no FUMEHOOD_SOCKET in the environment it does nothing. Only the process that
said hello speaks, and what a test may replace is bound before it can.

PYTEST_DONT_REWRITE
"""

import copy
import fcntl
import getpass
import json
import os
import select
import sys
import tempfile
import traceback
from _socket import AF_UNIX, CMSG_SPACE, MSG_CMSG_CLOEXEC, SOCK_CLOEXEC, SOCK_SEQPACKET, socket
from functools import partial

import pytest

SOCKET = "FUMEHOOD_SOCKET"
FOLDER = os.path.dirname(__file__)
ID_MAX = 16384  # bytes of an id in JSON
CUT_LEN = 2048  # characters of a message that nothing else could carry
INLINE_MAX = 24576  # bytes of a message in JSON that still goes into the packet
WHY_MAX = 4096  # characters of a reason
MESSAGE_MAX = 1 << 20  # characters of a message
ANSWER_MAX = 4096  # bytes
LATE_MS = 2000
LINGER = 150  # polls for an answer before it is waited for; about as many microseconds
HIGH_FD = 1000  # tests that close "all" descriptors mostly stop earlier

# What makes a run depend on an earlier one, ends it early, runs a test twice or moves tests about:
# option, value with which it stands still, what is said.
STILL = (
    ("maxfail", 0, "-x, --maxfail: off"),
    ("lf", False, "--last-failed: off"),
    ("failedfirst", False, "--failed-first: off"),
    ("newfirst", False, "--new-first: off"),
    ("stepwise", False, "--stepwise: off"),
    ("stepwise_skip", False, "--stepwise-skip: off"),
    ("usepdb", False, "--pdb: off"),
    ("trace", False, "--trace: off"),
    ("numprocesses", 0, "xdist: -n0"),
    ("dist", "no", "xdist: --dist=no"),
    ("distload", False, "xdist: -d off"),
    ("tx", [], "xdist: --tx off"),
    ("looponfail", False, "xdist: --looponfail off"),
    ("randomly_reorganize", False, "randomly: --randomly-dont-reorganize"),
    ("random_order_enabled", False, "random-order: off"),
    ("reverse", False, "reverse: off"),
    ("reruns", 0, "rerunfailures: --reruns=0"),
    ("force_flaky", False, "flaky: --force-flaky off"),
    ("workers", None, "parallel: --workers off"),
    ("tests_per_worker", None, "parallel: --tests-per-worker off"),
)
# What of it a plan may ask for: its member, the options that are then left alone.
LEFT_ON = {
    "parallel": ("numprocesses", "dist", "distload", "tx"),
    "native": ("randomly_reorganize",),
}
# xdist's workers read the command line anew. Of an option that exists: what they are told.
WORKERS = (
    ("continue_on_collection_errors", "--continue-on-collection-errors"),
    ("maxfail", "--maxfail=0"),
    ("randomly_reorganize", "--randomly-dont-reorganize"),
    ("reruns", "--reruns=0"),
)
RERUNNERS = ("rerunfailures", "flaky")
AGAIN = " (again)"  # behind the id of a test's second run
BAD = ("crashed", "failed", "error_setup", "error_teardown")  # the first one there wins
FAILED = {"setup": "error_setup", "call": "failed", "teardown": "error_teardown"}


class Own:
    """What of os and json the hot path needs, out of reach of patches."""

    close = staticmethod(os.close)
    fstat = staticmethod(os.fstat)
    getpid = staticmethod(os.getpid)
    open = staticmethod(os.open)
    read = staticmethod(os.read)
    sched_yield = staticmethod(os.sched_yield)
    write = staticmethod(os.write)
    decode = json.JSONDecoder().decode
    encode = json.JSONEncoder().encode
    quote = staticmethod(json.encoder.encode_basestring)


def clean(text):
    """Text that is valid in a packet: lone surrogates and NUL are escaped."""
    text = str(text).encode("utf-8", "backslashreplace").decode("utf-8")
    return text.replace("\0", "\\x00")


def quote(text):
    return Own.quote(clean(text))


class Looker:
    """The connection. Says nothing in a fork, and never on a descriptor that is no longer its own."""

    def __init__(self, path):
        self.pid = Own.getpid()
        self.drop = os.path.join(os.path.dirname(path), "drop")
        self.dropped = 0
        self.owed = False  # an interrupt may have kept us from the last answer
        self.over = None  # why the session has to end
        low = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC)
        low.settimeout(None)
        low.connect(path)
        self.fd = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, min(HIGH_FD, os.sysconf("SC_OPEN_MAX") - 1))
        low.close()
        self.inode = Own.fstat(self.fd).st_ino
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        self.poll = poll.poll  # waits at most so many milliseconds for something to read
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.close)

    def mine(self):
        """Is the descriptor still the connection? Tests close what is not theirs."""
        try:
            return self.fd >= 0 and Own.fstat(self.fd).st_ino == self.inode
        except OSError:
            return False

    def close(self):
        if self.mine():
            Own.close(self.fd)
        self.fd = -1

    def lose(self, why):
        self.over = self.over or "fumehood: " + why
        self.owed = False
        self.close()
        return {}

    def tell(self, packet):
        """Send, and do not wait. False: it could not be sent."""
        if self.fd < 0 or Own.getpid() != self.pid:
            return False
        if not self.mine():
            self.lose("the descriptor of the connection was closed by a test")
            return False
        try:
            Own.write(self.fd, packet.encode())
        except OSError as error:
            self.lose("cannot speak to the looker: %s" % error)
            return False
        return True

    def hear_and_move(self, fd, most):
        """Read an answer. With it may come another connection, which no list of sockets shows: it
        takes the first one's place."""
        first = socket(AF_UNIX, SOCK_SEQPACKET, 0, fd)
        first.settimeout(None)
        try:
            answer, others, _, _ = first.recvmsg(most, CMSG_SPACE(4), MSG_CMSG_CLOEXEC)
        finally:
            first.detach()
        for _, _, number in others:
            other = int.from_bytes(number, sys.byteorder)
            os.dup2(other, fd, inheritable=False)
            os.close(other)
            self.inode = Own.fstat(fd).st_ino
        return answer

    def ask(self, packet, hear=Own.read):
        """Send, wait for the answer and return it."""
        try:
            if self.owed:
                self.catch_up()
            self.owed = True
            if not self.tell(packet):
                self.owed = False
                return {}
            self.linger()
            answer = hear(self.fd, ANSWER_MAX)
            self.owed = False
        except OSError as error:
            return self.lose("cannot hear the looker: %s" % error)
        if answer == b'{"t":"go"}':
            return {}
        if not answer:
            return self.lose("the looker hung up")
        answer = Own.decode(answer.decode())
        if answer["t"] == "stop":
            self.over = "fumehood: " + answer["why"]
        return answer

    def linger(self):
        """Stay awake while the looker looks, but not for long: to wake a processor that went to
        sleep takes longer than most looks."""
        for _ in range(LINGER):
            if self.poll(0):
                return
            Own.sched_yield()

    def catch_up(self):
        """Read what is owed. The interrupt may have hit behind it, so this does not wait for ever."""
        self.owed = False
        if not self.mine():
            return
        try:
            if self.poll(LATE_MS):
                Own.read(self.fd, ANSWER_MAX)
        except OSError:
            pass  # the packet that follows will tell

    def end(self, packet):
        """Send the last packet. A connection closed with an answer unread would look like a crash."""
        if self.owed:
            self.catch_up()
        self.tell(packet)
        self.close()

    def put(self, tree):
        """Write a file of the drop folder, and return its name."""
        self.dropped += 1
        name = "%d-%d.json" % (self.inode, self.dropped)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        fd = Own.open(os.path.join(self.drop, name), flags, 0o644)
        try:
            rest = memoryview(Own.encode(tree).encode())
            while rest:
                rest = rest[Own.write(fd, rest) :]
        finally:
            Own.close(fd)
        return name

    def message(self, text):
        """The member that carries a message: in the packet when it fits."""
        if len(text) > MESSAGE_MAX:
            text = "%s\n... (%d characters)" % (text[:MESSAGE_MAX], len(text))
        quoted = Own.quote(text)
        if len(quoted.encode()) <= INLINE_MAX:
            return '"message":' + quoted
        try:
            return '"file":"%s"' % self.put({"v": 1, "message": text})
        except OSError as error:  # the scratch is full: a part is better than none
            cut = "%s\n... (the rest could not be written: %s)" % (text[:CUT_LEN], error)
            return '"message":' + Own.quote(cut)

    def load(self, name):
        with open(os.path.join(self.drop, name), encoding="utf-8") as file:
            return Own.decode(file.read())


class Environment:
    """The variables that brought us here: gone while a session lasts, so that no pytest that a test
    starts comes to the looker, and back after it for the next one of the same command."""

    def __init__(self):
        names = (SOCKET, "PYTHONPATH", "PYTEST_PLUGINS")
        self.saved = {name: os.environ[name] for name in names if name in os.environ}
        del os.environ[SOCKET]
        self.drop("PYTHONPATH", os.pathsep, FOLDER)
        self.drop("PYTEST_PLUGINS", ",", __name__)
        if FOLDER in sys.path:
            sys.path.remove(FOLDER)
        sys.path_importer_cache.pop(FOLDER, None)

    @staticmethod
    def drop(name, between, ours):
        rest = [part for part in os.environ.get(name, "").split(between) if part != ours]
        if any(rest):
            os.environ[name] = between.join(rest)
        else:
            os.environ.pop(name, None)

    def restore(self):
        os.environ.update(self.saved)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config):
    if SOCKET not in os.environ:
        yield
        return
    path = os.environ[SOCKET]
    environment = Environment()
    try:
        looker = Looker(path)
    except OSError as error:
        raise pytest.UsageError("fumehood: cannot reach the looker at %s: %s" % (path, error))
    adapter = Adapter(early_config, looker)
    early_config.add_cleanup(lambda: (adapter.done(), environment.restore()))
    adapter.hello()
    early_config.pluginmanager.register(adapter)
    outcome = yield
    if outcome.excinfo:
        adapter.no_conftest(outcome.excinfo[1])


class Adapter:
    """From hello to collected, and the end."""

    def __init__(self, config, looker):
        self.config = config
        self.looker = looker
        self.plan = {}
        self.said = []
        self.uncollectable = set()
        self.reading = None  # the file that is collected
        self.known = False  # the tests are
        self.exit = None
        self.why = None

    def hello(self):
        packet = {
            "v": 1,
            "t": "hello",
            "adapter": "pytest",
            "version": pytest.__version__,
            "python": "%d.%d.%d" % sys.version_info[:3],
            "can": ["reorder", "repeat", "handover"] + can_also(self.config.known_args_namespace),
            "rootdir": clean(self.config.rootpath),
            "plugins": foreign_plugins(self.config),
        }
        answer = self.looker.ask(Own.encode(packet), self.looker.hear_and_move)
        if self.looker.over:
            raise pytest.UsageError(self.looker.over)
        self.plan = self.looker.load(answer["file"])

    def no_conftest(self, error):
        """A conftest that cannot be imported ends pytest before anything was collected."""
        self.why = named(error)
        path = getattr(error, "path", None)
        if path is not None:
            name = os.path.relpath(str(path), str(self.config.rootpath))
            self.cannot_collect(name, self.why)

    def cannot_collect(self, name, why, outcome="error_setup"):
        name = short_id(name)
        if name in self.uncollectable:
            return
        self.uncollectable.add(name)
        packet = {"v": 1, "t": "uncollectable", "id": name, "outcome": outcome, "why": short(why)}
        self.ask(Own.encode(packet))

    def ask(self, packet):
        self.looker.ask(packet)
        if self.looker.over:
            raise pytest.exit.Exception(self.looker.over, 3)

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config):
        self.said += stand_still(config.option, self.plan)
        # A module that cannot be collected is a row, and does not keep the others from running.
        config.option.continue_on_collection_errors = True
        if "parallel" in self.plan:
            given = config.invocation_params
            more = [flag for name, flag in WORKERS if hasattr(config.option, name)]
            args = [*given.args, *more]
            config.invocation_params = type(given)(args=args, plugins=given.plugins, dir=given.dir)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector):
        """Files are read here, and what they do then is theirs."""
        if not isinstance(collector, pytest.File):
            yield
            return
        outer, self.reading = self.reading, short_id(collector.nodeid)
        self.tell_reading()
        yield
        self.reading = outer
        self.tell_reading()

    def tell_reading(self):
        if not self.known:
            self.looker.tell(Own.encode({"v": 1, "t": "collecting", "id": self.reading}))

    def pytest_collectreport(self, report):
        if report.failed:
            self.cannot_collect(report.nodeid or ".", report.longreprtext)
        elif report.skipped:
            self.cannot_collect(report.nodeid or ".", reason(report), "skipped")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session):
        """Whatever wanted to order the tests has done so: ours is the last word."""
        manager = session.config.pluginmanager
        coverage = manager.getplugin("_cov")
        if coverage is not None and coverage.options.cov_fail_under:
            coverage.options.cov_fail_under = 0
            self.said.append("cov: --cov-fail-under off")
        protocols = protocols_of(manager)
        if any(protocol.plugin_name in RERUNNERS for protocol in protocols):
            manager.register(Once(protocols))
            self.said.append("tests that ask to be rerun: run once")
        if manager.hasplugin("dsession"):
            crowd = Crowd(self)
            manager.register(crowd)
            yield
            crowd.announce()
            return

        self.part(session)
        ids = self.name_tests([item.nodeid for item in session.items])
        names = dict(zip(session.items, ids))
        found = {"missing": self.follow_plan(session, names)}
        if self.plan.get("others"):
            here = set(session.items)
            found["others"] = [name for item, name in names.items() if item not in here]
        if self.plan.get("repeat") == 2:
            self.repeat(session, names)
        self.collected([about(item, names[item]) for item in session.items], found)
        if self.plan.get("mode") == "collect":
            session.items[:] = []
        manager.register(Boundary(self.looker, session, names))
        yield

    def part(self, session):
        """A plugin may put one item into the list twice: then each is an item of its own."""
        items, seen = [], set()
        for item in session.items:
            if item in seen:
                self.said.append("the project lists a test twice: " + short(item.nodeid))
                try:
                    item = again_of(item)
                except Exception as error:  # an item of a plugin's own may be like no other
                    self.said.append("run once: %s: %s" % (short(item.nodeid), named(error)))
                    continue
            seen.add(item)
            items.append(item)
        session.items[:] = items

    def name_tests(self, nodeids):
        """The ids. A second test of one id has its number behind it."""
        names, times, first = [], {}, None
        for nodeid in nodeids:
            wanted = name = short_id(nodeid)
            while name in times:
                first = first or wanted
                times[wanted] += 1
                name = "%s#%d" % (wanted, times[wanted])
            times[name] = 1
            names.append(name)
        if first:
            self.said.append("tests of one id are numbered: #2, #3 ...; the first is " + short(first))
        return names

    def follow_plan(self, session, names):
        """Order the session's items as planned; returns the ids that do not exist."""
        if "tests" not in self.plan:
            return []
        items = {name: item for item, name in names.items()}
        planned = dict.fromkeys(self.plan["tests"])
        left = [item for name, item in items.items() if name not in planned]
        session.items[:] = [items[name] for name in planned if name in items]
        if left:
            self.config.hook.pytest_deselected(items=left)
        return [name for name in planned if name not in items]

    def repeat(self, session, names):
        """Each test twice in a row, as two items."""
        twice = []
        for item in session.items:
            twice.append(item)
            try:
                again = again_of(item)
            except Exception as error:  # an item of a plugin's own may be like no other
                self.said.append("not run again: %s: %s" % (names[item], named(error)))
                continue
            names[again] = names[item] + AGAIN
            twice.append(again)
        session.items[:] = twice

    def collected(self, tests, found):
        file = self.looker.put({"v": 1, "tests": tests, **found})
        packet = {"v": 1, "t": "collected", "file": file, "said": [clean(s) for s in self.said]}
        packet["basetemp"] = basetemp(self.config.option)
        self.known = True
        self.ask(Own.encode(packet))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session, exitstatus):
        self.exit = int(exitstatus)
        self.why = session.shouldfail or session.shouldstop or self.why

    def pytest_keyboard_interrupt(self, excinfo):
        self.why = named(excinfo.value)

    def pytest_internalerror(self, excinfo):
        self.why = "pytest broke: " + named(excinfo.value)

    def done(self):
        packet = {"v": 1, "t": "done", "exit": self.exit}
        if self.why:
            packet["why"] = short(self.why)
        self.looker.end(Own.encode(packet))


class Boundary:
    """From the first test to the last. Registered after all others, so that its wrappers enclose
    theirs."""

    def __init__(self, looker, session, names):
        self.looker = looker
        self.session = session
        self.names = {item: Own.quote(name) for item, name in names.items()}
        self.reports = []
        self.test = None  # the running one, or the last
        self.announced = False
        self.opened = set()  # wide fixtures
        self.begun = []  # set-ups and finalisers that go on, the innermost last
        seen = set()
        for item in names:
            for node in item.listchain()[:-1]:
                if node not in seen and type(node).setup is not pytest.Collector.setup:
                    self.watch(node)
                seen.add(node)

    def ask(self, packet):
        self.looker.ask(packet)
        if self.looker.over and not self.session.shouldstop:
            self.session.shouldstop = self.looker.over

    def name_of(self, item):
        """An item that came after collecting is told, too: the looker refuses it by name."""
        return self.names.get(item) or Own.quote(short_id(item.nodeid))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        self.test = self.name_of(item)
        if not self.announced:
            self.ask('{"v":1,"t":"start","test":%s}' % self.test)
        outcome = yield
        self.finish(nextitem, outcome.excinfo)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report):
        self.reports.append(report)

    def finish(self, nextitem, raised):
        self.end_all(0)
        stops = raised or self.session.shouldstop or self.session.shouldfail
        self.announced = nextitem is not None and not stops
        following = self.name_of(nextitem) if self.announced else "null"
        packet = finish_packet(self.looker, self.test, following, self.reports, raised)
        self.reports.clear()
        self.ask(packet)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope == "function":
            yield
            return
        fixture = self.wide(fixturedef.argname, fixturedef.scope)
        # Finalisers run last in, first out: these two enclose the fixture's own, and whatever
        # needs the fixture closes before.
        self.begin("scope_open", fixture)
        fixturedef.addfinalizer(partial(self.end, "scope_close", fixture))
        yield
        fixturedef.addfinalizer(partial(self.begin, "scope_close", fixture))
        self.end("scope_open", fixture)

    def watch(self, node):
        """A collector with a set-up of its own (a package's setup_module) counts as a fixture."""
        setup, teardown = node.setup, node.teardown
        scope = "package" if isinstance(node, pytest.Package) else "module"
        fixture = self.wide("setup of " + clean(node.nodeid), scope)

        def watched_setup():
            self.begin("scope_open", fixture)
            try:
                setup()
            finally:
                node.addfinalizer(partial(self.begin, "scope_close", fixture))
                self.end("scope_open", fixture)

        def watched_teardown():
            try:
                teardown()
            finally:
                self.end("scope_close", fixture)

        node.setup, node.teardown = watched_setup, watched_teardown

    def wide(self, fixture, scope):
        """Name and scope of a fixture. No two that are open at a time have both in common."""
        number = 1
        name = fixture
        while (name, scope) in self.opened:
            number += 1
            name = "%s#%d" % (fixture, number)
        return name, scope

    def begin(self, kind, fixture):
        self.opened.add(fixture)
        self.begun.append((kind, fixture))
        self.tell_scope(kind, "begin", fixture)

    def end(self, kind, fixture):
        if (kind, fixture) in self.begun:
            self.end_all(self.begun.index((kind, fixture)))

    def end_all(self, depth):
        """More than the innermost only when an interrupt kept the others from their own end."""
        while len(self.begun) > depth:
            kind, fixture = self.begun.pop()
            if kind == "scope_close":
                self.opened.discard(fixture)
            self.tell_scope(kind, "end", fixture)

    def tell_scope(self, kind, at, fixture):
        """pytest captures within tests, not between: each look is to see the same descriptors."""
        name, scope = fixture
        packet = '{"v":1,"t":"%s","at":"%s","fixture":%s,"scope":"%s","test":%s}'
        packet %= kind, at, quote(name), scope, self.test
        capture = self.session.config.pluginmanager.getplugin("capturemanager")
        if capture is None:
            self.ask(packet)
            return
        with capture.global_and_fixture_disabled():
            self.ask(packet)


class Crowd:
    """In xdist's controller: its workers do not speak, and tell it what becomes of the tests. Nobody
    looks at tests that run at once."""

    def __init__(self, adapter):
        self.adapter = adapter
        self.nodeids = []
        self.waiting = None  # nodeid to the ids of those that did not finish
        self.reports = {}  # by nodeid

    def pytest_xdist_node_collection_finished(self, ids):
        self.nodeids = list(ids)  # of each worker the same, or xdist ends the session

    def announce(self):
        """Once all workers have collected: before, a module may still turn out uncollectable."""
        if self.waiting is not None:
            return
        self.waiting = {}
        tests = []
        for nodeid, name in zip(self.nodeids, self.adapter.name_tests(self.nodeids)):
            self.waiting.setdefault(nodeid, []).append(name)
            tests.append({"id": name, "file": clean(nodeid.split("::")[0]), "line": None})
        self.adapter.collected(tests, {"missing": []})

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report):
        self.announce()
        self.reports.setdefault(report.nodeid, []).append(report)
        waiting = self.waiting.get(report.nodeid)
        if waiting and report.when not in ("setup", "call"):  # "???": its worker died
            name, reports = Own.quote(waiting.pop(0)), self.reports.pop(report.nodeid)
            self.adapter.ask(finish_packet(self.adapter.looker, name, "null", reports, None))


class Once:
    """Runs a test in the way that the next plugin would if those that run it again were not there."""

    def __init__(self, protocols):
        self.protocols = [i for i in protocols if i.plugin_name not in RERUNNERS]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        given = {"item": item, "nextitem": nextitem}
        for protocol in self.protocols:
            result = protocol.function(*[given[name] for name in protocol.argnames])
            if result is not None:
                return result
        return None


def protocols_of(manager):
    """What runs a test, wrappers aside, in the order in which it is asked to."""
    found = manager.hook.pytest_runtest_protocol.get_hookimpls()
    return [i for i in reversed(found) if not (i.hookwrapper or getattr(i, "wrapper", False))]


def can_also(known):
    """What plugins can do that are loaded, as plans call it."""
    return [wish for wish, options in LEFT_ON.items() if hasattr(known, options[0])]


def stand_still(option, plan):
    """Tells other plugins to leave the order and the choice of tests alone, but for what is planned;
    returns what it said."""
    said = []
    left_on = [name for wish in plan for name in LEFT_ON.get(wish, ())]
    for name, value, text in STILL:
        now = getattr(option, name, None)
        if now and now != value and name not in left_on:
            setattr(option, name, value)
            said.append(text)
    for name in ("random_order_bucket", "random_order_seed"):
        if not str(getattr(option, name, "default:")).startswith("default:"):
            setattr(option, name, "default:0")
            said.append("random-order: --%s off" % name.replace("_", "-"))
    if "native" not in plan and getattr(option, "randomly_seed", None) in ("default", "last"):
        option.randomly_seed = 0
        said.append("randomly: --randomly-seed=0")
    if "parallel" in plan:
        option.numprocesses = plan["parallel"]
        said.append("xdist: -n%d" % option.numprocesses)
    if "native" in plan:
        option.randomly_reorganize, option.randomly_seed = True, plan["native"]
        said.append("randomly: --randomly-seed=%d" % option.randomly_seed)
    return said


def about(item, name):
    file, line, _ = item.location
    return {"id": name, "file": clean(file), "line": None if line is None else line + 1}


def again_of(item):
    """A second item of the same test. What belongs to one run of it is its own: fixtures, the
    instance of its class, marks and notes of plugins, the names of a doctest."""
    again = copy.copy(item)
    for name in ("own_markers", "user_properties", "_report_sections"):
        setattr(again, name, list(getattr(item, name)))
    again.stash = again._store = type(item.stash)()
    again.stash._storage.update(item.stash._storage)
    instance = getattr(getattr(item, "_obj", None), "__self__", None)
    if instance is not None and isinstance(item.parent, pytest.Class):
        del again._obj
    if hasattr(item, "_instance"):
        again._instance = None
    if hasattr(item, "dtest"):
        again.dtest = copy.copy(item.dtest)
        again.dtest.globs = dict(item.dtest.globs)
    if hasattr(item, "_initrequest"):
        again._initrequest()
    return again


def foreign_plugins(config):
    """Installed plugins whose code lies outside the project."""
    found = set()
    for plugin, dist in config.pluginmanager.list_plugin_distinfo():
        path = os.path.realpath(getattr(plugin, "__file__", None) or "/")
        if not path.startswith(os.path.join(os.path.realpath(str(config.rootpath)), "")):
            found.add("%s-%s" % (dist.metadata["name"], dist.version))
    return sorted(found)


def basetemp(option):
    """The folder pytest's tmp_path makes its own in. Asking pytest would make it."""
    if option.basetemp:
        return clean(os.path.abspath(option.basetemp))
    root = os.environ.get("PYTEST_DEBUG_TEMPROOT") or tempfile.tempdir or os.environ.get("TMPDIR")
    try:
        user = getpass.getuser()
    except (ImportError, KeyError, OSError):
        user = "unknown"
    return clean(os.path.join(os.path.realpath(root or "/tmp"), "pytest-of-" + user))


def short(text):
    text = clean(text)
    return text if len(text) <= WHY_MAX else text[:WHY_MAX] + " ... (%d characters)" % len(text)


def short_id(name):
    name = clean(name)
    if len(Own.quote(name).encode()) <= ID_MAX:
        return name
    return "%s... (%d characters)" % (name[: ID_MAX // 8], len(name))


def word_of(report):
    """Our word for a phase; None for a report that is no outcome."""
    outcome = report.outcome
    if outcome == "failed":
        return FAILED.get(report.when, "crashed")  # "???": forked and xdist, of a dead process
    if outcome not in ("passed", "skipped"):
        return None
    if hasattr(report, "wasxfail"):
        return "xpassed" if outcome == "passed" else "xfailed"
    return outcome


def sum_up(reports):
    """Word and microseconds of each phase, and what is to be said about them."""
    phases, us, messages = {}, {}, []
    for report in reports:
        word = word_of(report)
        if word is None:
            continue
        when = report.when if report.when in FAILED else "call"
        if phases.get(when) not in BAD:
            phases[when] = word
        us[when] = us.get(when, 0) + microseconds(report.duration)
        messages.append(text_of(report, word))
    return phases, us, [text for text in messages if text]


def finish_packet(looker, test, following, reports, raised):
    """`test` and `following` are JSON already."""
    phases, us, messages = sum_up(reports)
    if raised:
        messages.append(ended_by(raised))
    elif "call" not in phases and phases.get("setup", "passed") == "passed":
        messages.append("its call never ran")
    packet = '{"v":1,"t":"finish","test":%s,"next":%s,"outcome":"%s","phases":{%s},"us":{%s}%s}'
    return packet % (
        test,
        following,
        "crashed" if raised else outcome_of(phases),
        ",".join(['"%s":"%s"' % phase for phase in phases.items()]),
        ",".join(['"%s":%d' % phase for phase in us.items()]),
        "," + looker.message("\n\n".join(messages)) if messages else "",
    )


def outcome_of(phases):
    words = phases.values()
    for bad in BAD:
        if bad in words:
            return bad
    if "call" in phases:
        return phases["call"]
    setup = phases.get("setup", "passed")
    return "skipped" if setup == "passed" else setup


def reason(report):
    """Of a skipped report: its reason, without pytest's word in front."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    return text[9:] if text.startswith("Skipped: ") else text


def text_of(report, word):
    if word == "passed":
        return ""
    try:
        if word in ("xfailed", "xpassed"):
            return clean(report.wasxfail).replace("reason: ", "", 1)
        return clean(reason(report) if word == "skipped" else report.longreprtext)
    except Exception as error:  # it shows objects of the suite, which may do anything
        return "its report cannot be shown: " + type(error).__name__


def microseconds(duration):
    try:
        return max(0, int(duration * 1e6))
    except (TypeError, ValueError, OverflowError):  # the suite replaced the clock
        return 0


def named(error):
    """An exception in one line. Its text comes from the suite, which may do anything."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:
        text = "(it cannot be shown)"
    return name + ": " + text if text else name


def ended_by(raised):
    """Why a test's protocol did not come to its end."""
    error = raised[1]
    if isinstance(error, (KeyboardInterrupt, pytest.exit.Exception)):
        return clean("the test ended the session: " + named(error))
    return clean("pytest broke: " + "".join(traceback.format_exception(*raised)))
