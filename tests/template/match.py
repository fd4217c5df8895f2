"""Tells which events a pattern of EventBridge matches: {"pattern", "events"} from standard input, a list of booleans out.

The matching is moto's, which also stands between the bus and the queue in the end-to-end tests.
"""

import json
import sys

from moto.events.models import EventPattern, EventPatternParser

asked = json.load(sys.stdin)
text = json.dumps(asked["pattern"])
pattern = EventPattern(text, EventPatternParser(text).parse())
json.dump([bool(pattern.matches_event(e)) for e in asked["events"]], sys.stdout)
