"""What ``stride.c`` is, in Python, for simulation: ``prefetcher=Stride``."""

import sluice


class Stride(sluice.Prefetcher):
    def __init__(self, space: sluice.PrefetchSpace) -> None:
        self.pages = space.pages
        self.last = self.stride = 0

    def access(self, lpn, outcome, at_ns, degree):
        stride = lpn - self.last
        is_stride = stride != 0 and stride == self.stride
        self.last, self.stride = lpn, stride
        ahead = [lpn + n * stride for n in range(1, degree + 1)] if is_stride else []
        return [page for page in ahead if 0 <= page < self.pages]
