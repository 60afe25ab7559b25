import subprocess
import sys

import pytest

subprocess.check_call([sys.executable, "-m", "pytest", "test_x.py"])
sys.exit(pytest.main(["test_x.py"]))
