"""The emulator, with a moto whose transactions copy a table once and not once per item.

    python tests/dynamo/launch.py --port 5000

moto copies the table before each write of a transaction, so that it can take the writes back; a hundred writes to a
table of a thousand items take it eleven seconds.
"""

import copy
import os
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

os.environ["MOTO_PORT"] = sys.argv[sys.argv.index("--port") + 1]  # moto reads it when it is imported

from moto.dynamodb import models  # noqa: E402
from moto.dynamodb.models.table import Table  # noqa: E402


def copy_once(transact):
    def transaction(self, transact_items):
        copies = {}

        def deepcopy(value):
            if not isinstance(value, Table):
                return copy.deepcopy(value)
            if value.name not in copies:
                copies[value.name] = copy.deepcopy(value)
            return copies[value.name]

        models.copy = SimpleNamespace(deepcopy=deepcopy)  # one call at a time: see wire in table_test.go
        try:
            return transact(self, transact_items)
        finally:
            models.copy = copy

    return transaction


models.DynamoDBBackend.transact_write_items = copy_once(models.DynamoDBBackend.transact_write_items)
runpy.run_path(str(Path(__file__).parents[1] / "emulator" / "emulator.py"), run_name="__main__")
