"""A memory of gem5 behind a fabric of Sluice's. From gem5's folder, with SLUICE the folder of
Sluice after `make build`:

    scons EXTRAS=SLUICE/examples/gem5 build/X86/gem5.opt

and in a configuration of gem5, of a system without another memory:

    system.memory = SluiceMemory(fabric="SLUICE/examples/gem5/ssd.toml", range=AddrRange("8GiB"))
    system.memory.port = system.membus.mem_side_ports
"""

from m5.objects.AbstractMemory import AbstractMemory
from m5.params import Param, ResponsePort


class SluiceMemory(AbstractMemory):
    type = "SluiceMemory"
    cxx_header = "sluice_memory.hh"
    cxx_class = "gem5::memory::SluiceMemory"

    port = ResponsePort("receives requests and sends responses")
    fabric = Param.String("name of a fabric that comes with Sluice, or path of a .toml file")
    requester = Param.UInt32(0, "the fabric's requester that sends for gem5; pattern = external")
    seed = Param.UInt64(1, "seed of the fabric's random streams")
    atomic_latency = Param.Latency("200ns", "time of an atomic access, which Sluice does not see")

    def controller(self):
        return self
