//! Which load an address is computed from, as far as registers show it.
//!
//! A block is looked at once, when it is translated. What it says then is about values at its
//! beginning: the address of an access comes from a load of the same block, or from registers at
//! its beginning; and so does each register at its end. A CPU keeps for each register the latest
//! load behind its value, and needs no more than a maximum for an access.

use iced_x86::{
    Code, Decoder, DecoderOptions, Instruction, InstructionInfoFactory, OpAccess, Register,
};

/// General registers: those that addresses are made of.
pub const REGISTERS: usize = 16;

/// What a value comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct From {
    /// Registers as they were when the block began: a bit for each.
    pub registers: u16,
    /// One more than the instruction of the block whose load is the latest behind it; 0 for none.
    /// It is later than any load behind a register.
    pub load: u16,
}

impl From {
    fn register(number: usize) -> From {
        From {
            registers: 1 << number,
            load: 0,
        }
    }

    fn load(place: usize) -> From {
        From {
            registers: 0,
            load: place as u16 + 1,
        }
    }

    fn and(self, other: From) -> From {
        From {
            registers: self.registers | other.registers,
            load: self.load.max(other.load),
        }
    }
}

/// A register that a block changes, and what its value comes from then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which register of the processor's.
    pub register: u8,
    /// What its value comes from.
    pub from: From,
}

/// Looks at the instructions of a block, one after another.
pub struct Analysis {
    registers: [From; REGISTERS],
    place: usize,
    factory: InstructionInfoFactory,
}

impl Analysis {
    /// At the beginning of a block.
    pub fn new() -> Analysis {
        Analysis {
            registers: std::array::from_fn(From::register),
            place: 0,
            factory: InstructionInfoFactory::new(),
        }
    }

    /// What the address of the next instruction's access comes from. Bytes that are no instruction
    /// of 64-bit code change nothing.
    pub fn next(&mut self, bytes: &[u8]) -> From {
        let place = self.place;
        self.place += 1;
        let instruction = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
        match instruction.is_invalid() || instruction.len() != bytes.len() {
            true => From::default(),
            false => self.follow(&instruction, place),
        }
    }

    fn follow(&mut self, instruction: &Instruction, place: usize) -> From {
        let info = self.factory.info(instruction);
        let (mut address, mut loads) = (From::default(), false);
        for memory in info.used_memory() {
            for part in [memory.base(), memory.index()] {
                if let Some(number) = general(part) {
                    address = address.and(self.registers[number]);
                }
            }
            loads |= reads(memory.access());
        }
        let mut value = match loads {
            true => From::load(place),
            false => From::default(),
        };
        for used in info
            .used_registers()
            .iter()
            .filter(|used| reads(used.access()))
        {
            // A load is later than whatever its address came from.
            if let Some(number) = general(used.register()).filter(|_| !loads) {
                value = value.and(self.registers[number]);
            }
        }
        let mut after = self.registers;
        for used in info
            .used_registers()
            .iter()
            .filter(|used| writes(used.access()))
        {
            if let Some(number) = general(used.register()) {
                let keeps = used.register().size() < 4 || used.access() == OpAccess::CondWrite;
                let kept = if keeps {
                    after[number]
                } else {
                    From::default()
                };
                after[number] = value.and(kept);
            }
        }
        self.correct(instruction, place, &mut after);
        self.registers = after;
        address
    }

    /// Registers that move on beside what the instruction is for do not wait for its load.
    fn correct(&self, instruction: &Instruction, place: usize, after: &mut [From; REGISTERS]) {
        let pointers = [Register::RSI, Register::RDI, Register::RCX];
        if instruction.is_string_instruction() {
            for number in pointers.into_iter().filter_map(general) {
                after[number] = self.registers[number];
            }
        }
        if instruction.is_stack_instruction() {
            let (rsp, rbp) = (number_of(Register::RSP), number_of(Register::RBP));
            after[rsp] = match instruction.code() {
                Code::Leaveq => self.registers[rbp],
                Code::Pop_r64 if instruction.op0_register() == Register::RSP => From::load(place),
                _ => self.registers[rsp],
            };
        }
    }

    /// The registers that the block changes.
    pub fn changes(&self) -> Box<[Change]> {
        let registers = self.registers.iter().enumerate();
        registers
            .filter(|(number, from)| **from != From::register(*number))
            .map(|(number, from)| Change {
                register: number as u8,
                from: *from,
            })
            .collect()
    }
}

fn number_of(register: Register) -> usize {
    register.number()
}

/// The number of a general register, or of the one that a part of it belongs to.
fn general(register: Register) -> Option<usize> {
    register
        .is_gpr()
        .then(|| number_of(register.full_register()))
}

fn reads(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAX: usize = 0;
    const RCX: usize = 1;
    const RSP: usize = 4;
    const RSI: usize = 6;

    /// What the addresses come from, and the registers at the end.
    fn block(instructions: &[&[u8]]) -> (Vec<From>, [From; REGISTERS]) {
        let mut analysis = Analysis::new();
        let addresses = instructions.iter().map(|i| analysis.next(i)).collect();
        (addresses, analysis.registers)
    }

    #[test]
    fn a_pointer_comes_from_the_load_before() {
        // mov rax,[rax]; add rax,8; mov rax,[rax+rcx]
        let (addresses, after) = block(&[
            &[0x48, 0x8b, 0x00],
            &[0x48, 0x83, 0xc0, 0x08],
            &[0x48, 0x8b, 0x04, 0x08],
        ]);
        assert_eq!(addresses[0], From::register(RAX));
        let both = From::load(0).and(From::register(RCX));
        assert_eq!(addresses[2], both);
        assert_eq!(after[RAX], From::load(2));
        assert_eq!(after[RCX], From::register(RCX));
    }

    #[test]
    fn the_stack_pointer_does_not_wait_for_what_is_popped() {
        // pop rax; push rcx; call +0; ret
        let (addresses, after) = block(&[&[0x58], &[0x51], &[0xe8, 0, 0, 0, 0], &[0xc3]]);
        assert_eq!(addresses, [From::register(RSP); 4]);
        assert_eq!(after[RSP], From::register(RSP));
        assert_eq!(after[RAX], From::load(0));
    }

    #[test]
    fn a_counter_comes_from_nothing_and_a_string_moves_on() {
        // xor eax,eax; mov al,[rcx]; lodsq
        let (_, after) = block(&[&[0x31, 0xc0], &[0x8a, 0x01], &[0x48, 0xad]]);
        assert_eq!(after[RAX], From::load(2));
        assert_eq!(after[RSI], From::register(RSI));
        let (_, after) = block(&[&[0x31, 0xc0]]);
        assert_eq!(after[RAX], From::default());
        // mov al,[rcx] keeps the rest of rax.
        let (_, after) = block(&[&[0x8a, 0x01]]);
        assert_eq!(after[RAX], From::load(0).and(From::register(RAX)));
    }

    #[test]
    fn what_is_no_instruction_changes_nothing() {
        let (addresses, after) = block(&[&[0x06], &[0x48]]);
        assert_eq!(addresses, [From::default(); 2]);
        assert_eq!(after, block(&[]).1);
    }
}
