//! What the messages of CXL.mem can say: opcodes and the fields beside them, with their encodings.
//!
//! CXL 3.1, 3.3.5 to 3.3.10. Encodings were compared with two public implementations in hardware
//! description languages and with Linux's list of performance events; they agree.

use std::fmt;

/// The six channels of CXL.mem. They order nothing among each other, and each has its own credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// M2S Req: requests without data, host to device.
    Req,
    /// M2S RwD: requests with data, host to device.
    RwD,
    /// M2S BIRsp: responses to back-invalidate snoops, host to device.
    BiRsp,
    /// S2M NDR: responses without data, device to host.
    Ndr,
    /// S2M DRS: responses with data, device to host.
    Drs,
    /// S2M BISnp: back-invalidate snoops, device to host.
    BiSnp,
}

impl Channel {
    /// Every channel, in order.
    pub const ALL: [Channel; 6] = [
        Channel::Req,
        Channel::RwD,
        Channel::BiRsp,
        Channel::Ndr,
        Channel::Drs,
        Channel::BiSnp,
    ];

    /// The name in the specification.
    pub const fn name(self) -> &'static str {
        match self {
            Channel::Req => "M2S Req",
            Channel::RwD => "M2S RwD",
            Channel::BiRsp => "M2S BIRsp",
            Channel::Ndr => "S2M NDR",
            Channel::Drs => "S2M DRS",
            Channel::BiSnp => "S2M BISnp",
        }
    }

    /// Which way it goes.
    pub const fn direction(self) -> Direction {
        match self {
            Channel::Req | Channel::RwD | Channel::BiRsp => Direction::M2s,
            Channel::Ndr | Channel::Drs | Channel::BiSnp => Direction::S2m,
        }
    }

    /// Whether its messages come with a line of data.
    pub const fn has_data(self) -> bool {
        matches!(self, Channel::RwD | Channel::Drs)
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Master to subordinate: from the host down.
    M2s,
    /// Subordinate to master: from the device up.
    S2m,
}

/// An enumeration with its encoding and the specification's names.
macro_rules! encoded {
    (
        $(#[$meta:meta])*
        $name:ident { $($(#[$doc:meta])* $case:ident = $bits:expr, $text:literal;)+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$doc])* $case = $bits,)+
        }

        impl $name {
            /// Every one, by encoding.
            pub const ALL: &[$name] = &[$($name::$case,)+];

            /// The bits that stand for it in a message.
            pub const fn bits(self) -> u8 {
                self as u8
            }

            /// What `bits` encodes; `None` if that is reserved.
            pub const fn from_bits(bits: u8) -> Option<$name> {
                $(if bits == $bits { return Some($name::$case); })+
                None
            }

            /// The name in the specification.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$case => $text,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

encoded! {
    /// Opcodes of M2S Req, 4 bits (CXL 3.1, Table 3-35).
    ReqOp {
        /// Change which host may hold the line; no data.
        MemInv = 0b0000, "MemInv";
        /// Read, and change which host may hold the line as MetaValue and SnpType say.
        MemRd = 0b0001, "MemRd";
        /// Read; the device chooses shared or exclusive.
        MemRdData = 0b0010, "MemRdData";
        /// Read on behalf of a device's own request (HDM-D).
        MemRdFwd = 0b0011, "MemRdFwd";
        /// Write on behalf of a device's own request (HDM-D).
        MemWrFwd = 0b0100, "MemWrFwd";
        /// MemRd by a trusted environment.
        MemRdTee = 0b0101, "MemRdTEE";
        /// MemRdData by a trusted environment.
        MemRdDataTee = 0b0110, "MemRdDataTEE";
        /// A speculative read, which nothing answers.
        MemSpecRd = 0b1000, "MemSpecRd";
        /// MemInv, and the host expects not to use the line soon.
        MemInvNt = 0b1001, "MemInvNT";
        /// The host gives up a clean line.
        MemClnEvct = 0b1010, "MemClnEvct";
        /// MemSpecRd by a trusted environment.
        MemSpecRdTee = 0b1100, "MemSpecRdTEE";
        /// Changes whether a trusted environment owns the line.
        TeUpdate = 0b1101, "TEUpdate";
    }
}

encoded! {
    /// Opcodes of M2S RwD, 4 bits (CXL 3.1, Table 3-41). Each has 64 bytes of data.
    RwdOp {
        /// Write a line.
        MemWr = 0b0001, "MemWr";
        /// Write the bytes that the byte enables name.
        MemWrPtl = 0b0010, "MemWrPtl";
        /// A snoop met a request for its line; the data is reserved.
        BiConflict = 0b0100, "BIConflict";
        /// A read that changes no state; the data is reserved.
        MemRdFill = 0b0101, "MemRdFill";
        /// MemWr by a trusted environment.
        MemWrTee = 0b1001, "MemWrTEE";
        /// MemWrPtl by a trusted environment.
        MemWrPtlTee = 0b1010, "MemWrPtlTEE";
        /// MemRdFill by a trusted environment.
        MemRdFillTee = 0b1101, "MemRdFillTEE";
    }
}

impl RwdOp {
    /// Whether byte enables follow the data.
    pub const fn has_enables(self) -> bool {
        matches!(self, RwdOp::MemWrPtl | RwdOp::MemWrPtlTee)
    }

    /// Whether its 64 bytes say something; else they are zero.
    pub const fn writes(self) -> bool {
        !matches!(
            self,
            RwdOp::BiConflict | RwdOp::MemRdFill | RwdOp::MemRdFillTee
        )
    }
}

encoded! {
    /// Opcodes of M2S BIRsp, 4 bits (CXL 3.1, Table 3-45): what is left in the host's caches.
    BiRspOp {
        /// The host has no copy of the line any more.
        I = 0b0000, "BIRspI";
        /// A shared copy.
        S = 0b0001, "BIRspS";
        /// A copy that may be written.
        E = 0b0010, "BIRspE";
        /// Nothing of the whole block.
        IBlk = 0b0100, "BIRspIBlk";
        /// Shared copies of the block.
        SBlk = 0b0101, "BIRspSBlk";
        /// Copies of the block that may be written.
        EBlk = 0b0110, "BIRspEBlk";
    }
}

encoded! {
    /// Opcodes of S2M NDR, 3 bits (CXL 3.1, Table 3-50).
    NdrOp {
        /// The request is done, and says nothing of the line's state.
        Cmp = 0b000, "Cmp";
        /// Done; the host may hold the line shared.
        CmpS = 0b001, "Cmp-S";
        /// Done; the host may hold the line exclusively.
        CmpE = 0b010, "Cmp-E";
        /// Done; the host holds the line modified.
        CmpM = 0b011, "Cmp-M";
        /// The answer to BIConflict: completions of the line are ahead of it.
        BiConflictAck = 0b100, "BI-ConflictAck";
        /// Done; the line is a trusted environment's.
        CmpTee = 0b101, "CmpTEE";
        /// The data will come late: doing something else may pay. Reserved in CXL; SkyByte III-A
        /// and its Figure 8 give it this meaning.
        SkyByteDelay = 0b111, "SkyByte-Delay";
    }
}

encoded! {
    /// Opcodes of S2M DRS, 3 bits (CXL 3.1, Table 3-53).
    DrsOp {
        /// The data that was asked for.
        MemData = 0b000, "MemData";
        /// The address is no memory's; the data means nothing.
        MemDataNxm = 0b001, "MemData-NXM";
        /// The data, which is a trusted environment's.
        MemDataTee = 0b010, "MemDataTEE";
    }
}

encoded! {
    /// Opcodes of S2M BISnp, 4 bits (CXL 3.1, Table 3-47).
    BiSnpOp {
        /// What is the line now? The host keeps it.
        Cur = 0b0000, "BISnpCur";
        /// Give up writing; a shared copy may stay.
        Data = 0b0001, "BISnpData";
        /// Give it up.
        Inv = 0b0010, "BISnpInv";
        /// BISnpCur of a block.
        CurBlk = 0b0100, "BISnpCurBlk";
        /// BISnpData of a block.
        DataBlk = 0b0101, "BISnpDataBlk";
        /// BISnpInv of a block.
        InvBlk = 0b0110, "BISnpInvBlk";
    }
}

impl BiSnpOp {
    /// Whether Address\[7:6\] name a block, not a line.
    pub const fn is_block(self) -> bool {
        self.bits() & 0b0100 != 0
    }

    /// The opcode that asks for a block what this one asks for.
    pub const fn of_block(self) -> BiSnpOp {
        match self {
            BiSnpOp::Cur | BiSnpOp::CurBlk => BiSnpOp::CurBlk,
            BiSnpOp::Data | BiSnpOp::DataBlk => BiSnpOp::DataBlk,
            BiSnpOp::Inv | BiSnpOp::InvBlk => BiSnpOp::InvBlk,
        }
    }

    /// The opcode that asks for one line what this one asks for.
    pub const fn of_line(self) -> BiSnpOp {
        match self {
            BiSnpOp::Cur | BiSnpOp::CurBlk => BiSnpOp::Cur,
            BiSnpOp::Data | BiSnpOp::DataBlk => BiSnpOp::Data,
            BiSnpOp::Inv | BiSnpOp::InvBlk => BiSnpOp::Inv,
        }
    }
}

encoded! {
    /// What MetaValue is about, 2 bits (CXL 3.1, Table 3-36).
    MetaField {
        /// The state in which the host will hold the line.
        Meta0State = 0b00, "Meta0-State";
        /// Extended metadata follows the data. Messages here do not carry it.
        Extended = 0b01, "Extended Metadata";
        /// Nothing: no metadata is read or written.
        NoOp = 0b11, "No-Op";
    }
}

encoded! {
    /// The state of a line in the host, 2 bits (CXL 3.1, Table 3-37).
    MetaValue {
        /// The host has no copy.
        Invalid = 0b00, "Invalid";
        /// The message says nothing about the host's copy.
        ExplicitNoOp = 0b01, "Explicit No-Op";
        /// The host may have a copy in any state, also modified.
        Any = 0b10, "Any";
        /// The host may have a shared copy.
        Shared = 0b11, "Shared";
    }
}

encoded! {
    /// What the device does to its own cached copies, 3 bits (CXL 3.1, Table 3-38).
    SnpType {
        /// Leaves them as they are.
        NoOp = 0b000, "No-Op";
        /// Keeps at most a shared copy.
        SnpData = 0b001, "SnpData";
        /// Keeps its state.
        SnpCur = 0b010, "SnpCur";
        /// Keeps no copy.
        SnpInv = 0b011, "SnpInv";
    }
}

encoded! {
    /// How busy the device is, 2 bits (CXL 3.1, Table 3-51).
    DevLoad {
        /// Its queues are nearly empty.
        Light = 0b00, "Light Load";
        /// The load is as it should be.
        Optimal = 0b01, "Optimal Load";
        /// The host should send less.
        Moderate = 0b10, "Moderate Overload";
        /// The host should send much less.
        Severe = 0b11, "Severe Overload";
    }
}
