"""Figures of matplotlib that notebooks show."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.figure import Figure


class Picture(Figure):
    """A notebook shows it. A plain figure it shows only where pyplot was imported before."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        out = io.BytesIO()
        self.savefig(out, format="png")
        return {"image/png": out.getvalue(), "text/plain": repr(self)}
