"""What ``clean_first.c`` is, in Python, for simulation: ``policy=CleanFirst``."""

import sluice


class CleanFirst(sluice.Policy):
    def __init__(self, space: sluice.PolicySpace) -> None:
        # Slots in the order of their last use: a dict keeps the order of insertion.
        self.order: list[dict[int, None]] = [{} for _ in range(space.sets)]
        self.window = -(-space.ways // 4)

    def insert(self, set_, slot, lpn):
        self.order[set_][slot] = None

    def hit(self, set_, slot):
        self.order[set_][slot] = self.order[set_].pop(slot)

    def victim(self, set_, evictable):
        found = None
        for seen, slot in enumerate(self.order[set_], 1):
            if evictable(slot):
                is_clean = seen <= self.window and not evictable.is_dirty(slot)
                if is_clean or found is None:
                    found = slot
                if is_clean:
                    break
            if found is not None and seen >= self.window:
                break
        if found is not None:
            del self.order[set_][found]
        return found

    def remove(self, set_, slot):
        del self.order[set_][slot]
