r"""DDR4-2400, 17-17-17, one channel of two ranks, for Ramulator 2. DIR has Ramulator 2:

    PYTHONPATH=DIR/python python3 -m ramulator export -o ddr4.yaml \
        examples/memory-ramulator2/ddr4.py

writes the file that ramulator2.so takes.
"""

import ramulator

controller = ramulator.controller.GenericDDR(
    dram=ramulator.dram.DDR4(org_preset="DDR4_8Gb_x8", timing_preset="DDR4_2400U", rank=2),
    scheduler=ramulator.scheduler.FRFCFS(),
    refresh_manager=ramulator.refresh_manager.AllBank(),
    row_policy=ramulator.row_policy.Open(),
    addr_mapper=ramulator.addr_mapper.RoBaRaCoCh(),
)
ramulator.Simulation(
    ramulator.frontend.External(clock_ratio=1),
    ramulator.memory_system.GenericDRAM(
        clock_ratio=1,
        controllers=[controller],
        channel_mapper=ramulator.channel_mapper.CacheLineInterleave(),
    ),
)
