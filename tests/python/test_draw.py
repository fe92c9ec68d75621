"""Do the pictures of experiments show all that is in them?"""

from __future__ import annotations

from matplotlib.figure import Figure

from sluice.reproduce import draw


def test_a_stack_that_ends_with_nothing_has_room_above() -> None:
    axes = Figure().subplots()
    axes.bar([0], [1.5])
    draw._rest_on_others(axes.bar([0], [0.0], bottom=[1.5]))
    bottom, top = axes.get_ylim()
    assert bottom == 0 and top > 1.5
