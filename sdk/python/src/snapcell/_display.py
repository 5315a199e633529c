"""A result in a notebook: pictures as pictures, the rest as text. Nothing of it is ever HTML from inside a cell."""
from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING, Any, Dict, List

if TYPE_CHECKING:
    from snapcell._models import Result


def _picture(forms: Dict[str, Any]) -> str:
    for mime in ("image/png", "image/jpeg"):
        data = forms.get(mime)
        if isinstance(data, str):
            try:
                clean = base64.b64encode(base64.b64decode(data)).decode()
            except ValueError:
                continue
            return '<img src="data:%s;base64,%s">' % (mime, clean)
    return ""


def bundle(result: Result) -> Dict[str, Any]:
    parts: List[str] = []
    lines: List[str] = []

    def block(text: str, style: str = "") -> None:
        if text:
            parts.append('<pre style="%s">%s</pre>' % (style, html.escape(text)))
            lines.append(text)

    block(result.stdout)
    block(result.stderr, "color:#a33")
    for forms in [*result.displays, *([result.value] if result.value else [])]:
        picture = _picture(forms)
        if picture:
            parts.append(picture)
        else:
            block(str(forms.get("text/plain", "")))
    if result.error_info:
        block(result.error_info.traceback or result.error_info.message, "color:#a33")
    if not result.ok:
        block("%s: %s" % (result.status, result.message), "font-weight:bold")
    for denial in result.denials:
        block("refused: %s %s %s" % (denial.action, denial.resource, denial.hint))
    return {"text/plain": "\n".join(lines), "text/html": "\n".join(parts)}
