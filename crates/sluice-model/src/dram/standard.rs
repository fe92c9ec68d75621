//! Timing of the DRAM standards, as tables of data.

use sluice_params::Registered;
use sluice_units::Ps;

/// A speed bin of a standard with one kind of chip. Times ending in nothing are in clock cycles.
///
/// One burst moves `burst_bytes` on one channel. A channel of DDR5 is one of the two that a module
/// has; a channel of LPDDR4 is one of the two of a chip.
#[derive(Clone, Copy, Debug)]
pub struct Standard {
    /// The name in `dram.model`.
    pub name: &'static str,
    /// The standard, its speed bin and the chip.
    pub source: &'static str,
    /// Clock period.
    pub clock: Ps,
    /// Bytes of a burst.
    pub burst_bytes: u64,
    /// Clock cycles of a burst on the data bus (BL/2).
    pub burst: u64,
    /// Read command to data (CL, RL).
    pub read_latency: u64,
    /// Write command to data (CWL, WL).
    pub write_latency: u64,
    /// ACT to a read or write (tRCD).
    pub rcd: u64,
    /// PRE to ACT (tRP).
    pub rp: u64,
    /// PRE of all banks to refresh (tRPab).
    pub rp_all: u64,
    /// ACT to PRE (tRAS).
    pub ras: u64,
    /// Read to PRE (tRTP).
    pub rtp: u64,
    /// End of write data to PRE (tWR).
    pub wr: u64,
    /// Column command to the next of another bank group (tCCD_S).
    pub ccd_s: u64,
    /// Read to read in the same bank group (tCCD_L).
    pub ccd_l: u64,
    /// Write to write in the same bank group (tCCD_L_WR).
    pub ccd_l_wr: u64,
    /// ACT to ACT of another bank group (tRRD_S).
    pub rrd_s: u64,
    /// ACT to ACT of the same bank group (tRRD_L).
    pub rrd_l: u64,
    /// The window that has four ACT of a rank at most (tFAW).
    pub faw: u64,
    /// End of write data to a read in another bank group (tWTR_S).
    pub wtr_s: u64,
    /// End of write data to a read in the same bank group (tWTR_L).
    pub wtr_l: u64,
    /// Gap on the bus between the data of a read and that of a write.
    pub rtw: u64,
    /// Gap on the bus between the data of two ranks (tRTRS, tCS).
    pub rtrs: u64,
    /// Time between two refreshes of a rank (tREFI).
    pub refi: Ps,
    /// Time a refresh of all banks takes (tRFC1, tRFCab).
    pub rfc: Ps,
    /// Bank groups of a rank.
    pub bank_groups: u64,
    /// Banks of a bank group.
    pub banks: u64,
    /// Bytes of a row over all chips of a rank.
    pub row_bytes: u64,
    /// Rows of a bank.
    pub rows: u64,
}

/// With tCCD_L_WR2 for tCCD_L_WR, since whole lines are written and none is read before. As in
/// Ramulator 2 and, for DDR5-4400, gem5; Ramulator 2 has tCCD_L_WR and a tFAW of 20 ns.
const DDR5_4800: Standard = Standard {
    name: "ddr5-4800",
    source: "JESD79-5 DDR5-4800B 40-39-39, 16 Gb x8 chips, 32-bit channel",
    clock: Ps(416),
    burst_bytes: 64,
    burst: 8,
    read_latency: 40,
    write_latency: 38,
    rcd: 39,
    rp: 39,
    rp_all: 39,
    ras: 77,
    rtp: 18,
    wr: 72,
    ccd_s: 8,
    ccd_l: 12,
    ccd_l_wr: 24,
    rrd_s: 8,
    rrd_l: 12,
    faw: 32,
    wtr_s: 6,
    wtr_l: 24,
    rtw: 4,
    rtrs: 2,
    refi: Ps::from_ns(3_900),
    rfc: Ps::from_ns(295),
    bank_groups: 8,
    banks: 4,
    row_bytes: 4_096,
    rows: 65_536,
};

/// Read data comes tDQSCK, 3.5 ns at most, after RL; a precharge and a read may come a cycle later
/// after a write than tWR and tWTR say. As DRAMSys has it, but for chips of half the size.
const LPDDR4_3200: Standard = Standard {
    name: "lpddr4-3200",
    source: "JESD209-4 LPDDR4-3200, 8 Gb chips of two 16-bit channels, BL16",
    clock: Ps(625),
    burst_bytes: 32,
    burst: 8,
    read_latency: 28 + 6,
    write_latency: 14,
    rcd: 29,
    rp: 29,
    rp_all: 34,
    ras: 68,
    rtp: 12,
    wr: 29 + 1,
    ccd_s: 8,
    ccd_l: 8,
    ccd_l_wr: 8,
    rrd_s: 16,
    rrd_l: 16,
    faw: 64,
    wtr_s: 16 + 1,
    wtr_l: 16 + 1,
    rtw: 2,
    rtrs: 2,
    refi: Ps::from_ns(3_904),
    rfc: Ps::from_ns(180),
    bank_groups: 1,
    banks: 8,
    row_bytes: 2_048,
    rows: 32_768,
};

/// A bank serves one request at a time, and takes a cycle more between its commands; that is in
/// `rp`, `rcd` and, since a bank group is one bank here, `ccd_l` and the recovery times. Two cycles
/// before the first command and one after the data are the controller's. It never refreshes.
///
/// The artifact's own distribution of DRAM-Only's latencies (the expected picture of Figure 3) has
/// these times and no others below the queues: 27 ns for a hit, 73 ns for a conflict.
const MACSIM_SKYBYTE: Standard = Standard {
    name: "macsim-skybyte",
    source: "MacSim's own controller as SkyByte's artifact sets it (doi:10.5281/zenodo.14660184): \
             0.8 GHz, column 11, activate 25, precharge 10, 16 banks over 8 channels of 8 bytes, \
             rows of 2 KiB",
    clock: Ps(1_250),
    burst_bytes: 64,
    burst: 8,
    read_latency: 11,
    write_latency: 11,
    rcd: 26,
    rp: 11,
    rp_all: 11,
    ras: 0,
    rtp: 20,
    wr: 1,
    ccd_s: 8,
    ccd_l: 20,
    ccd_l_wr: 20,
    rrd_s: 1,
    rrd_l: 1,
    faw: 0,
    wtr_s: 0,
    wtr_l: 1,
    rtw: 0,
    rtrs: 0,
    refi: Ps::from_ns(1_000_000_000_000),
    rfc: Ps::ZERO,
    bank_groups: 2,
    banks: 1,
    row_bytes: 2_048,
    rows: 1 << 21,
};

impl Registered for Standard {
    fn all() -> &'static [Standard] {
        STANDARDS
    }

    fn name(&self) -> &'static str {
        self.name
    }
}

/// Every standard, in a fixed order.
pub static STANDARDS: &[Standard] = &[
    Standard {
        name: "ddr4-2400",
        source: "JESD79-4 DDR4-2400T 17-17-17, 8 Gb x8 chips, 64-bit channel",
        clock: Ps(833),
        burst_bytes: 64,
        burst: 4,
        read_latency: 17,
        write_latency: 12,
        rcd: 17,
        rp: 17,
        rp_all: 17,
        ras: 39,
        rtp: 9,
        wr: 18,
        ccd_s: 4,
        ccd_l: 6,
        ccd_l_wr: 6,
        rrd_s: 4,
        rrd_l: 6,
        faw: 26,
        wtr_s: 3,
        wtr_l: 9,
        rtw: 2,
        rtrs: 2,
        refi: Ps::from_ns(7_800),
        rfc: Ps::from_ns(350),
        bank_groups: 4,
        banks: 4,
        row_bytes: 8_192,
        rows: 65_536,
    },
    DDR5_4800,
    Standard {
        name: "ddr5-4800-36-38-38",
        source: "SkyByte Table II: host DRAM DDR5 4800 MHz, 36-38-38; the rest as ddr5-4800",
        read_latency: 36,
        write_latency: 34,
        rcd: 38,
        rp: 38,
        rp_all: 38,
        ..DDR5_4800
    },
    LPDDR4_3200,
    Standard {
        name: "lpddr4-3200-16-18-18",
        source: "SkyByte Table II: SSD DRAM LPDDR4 3200 MHz, 16-18-18; the rest as lpddr4-3200, \
                 whose own bin is 28-29-29",
        read_latency: 16,
        rcd: 18,
        rp: 18,
        rp_all: 23,
        ..LPDDR4_3200
    },
    MACSIM_SKYBYTE,
];
