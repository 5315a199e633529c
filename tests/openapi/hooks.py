"""What schemathesis does not know by itself: bodies of lines are sent as the text they are."""
import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(_context, value):
    if isinstance(value, bytes):
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "surrogatepass")
