//! From three-address code to a machine's: what is never used left out, values in registers or in
//! the frame.

use super::super::{Array, Recorder};
use super::lower::{Ir, Value, What};
use super::parse::NONE;
use super::source::{PARAMETERS, VARIABLES};
use std::collections::BTreeMap;

/// Registers for variables, and for what instructions compute; the frame comes after them.
const OF_VARIABLES: usize = 6;
const OF_VALUES: usize = 6;
pub(super) const REGISTERS: u32 = (OF_VARIABLES + OF_VALUES) as u32;

/// An instruction in a pass: its uses and what it defines.
const VISIT: u32 = 30;
/// A value's register: the list of those in use.
const ALLOCATE: u32 = 25;
/// Moving an instruction up to where others were left out.
const MOVE: u32 = 4;
/// Encoding an instruction.
const ENCODE: u32 = 30;

/// A pass over the code, which records the loads of the code that it reads.
struct Pass<'r, 'o> {
    code_at: Array,
    rec: &'r mut Recorder<'o>,
}

impl Pass<'_, '_> {
    fn visit(&mut self, index: usize) {
        self.rec.load(self.code_at.at(index as u64));
        self.rec.work(VISIT);
    }
}

/// Machine code of a function: places for values, and for labels where they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Compiled {
    pub(super) code: Vec<Ir>,
    /// Where its arguments are expected.
    arguments: [u32; PARAMETERS],
}

/// Compiles the code of a function.
pub(super) fn emit(
    mut code: Vec<Ir>,
    values: Value,
    [code_at, out_at]: [Array; 2],
    rec: &mut Recorder,
) -> Compiled {
    let mut pass = Pass { code_at, rec };
    let alive = liveness(&code, &mut pass);
    remove_dead(&mut code, values, &alive, &mut pass);
    let places = allocate(&code, values, &mut pass);
    let mut out: Vec<Ir> = Vec::with_capacity(code.len());
    let mut labels = BTreeMap::new();
    for (index, ir) in code.iter().enumerate() {
        pass.visit(index);
        if let What::Label(label) = ir.what {
            labels.insert(label, out.len() as u32);
            continue;
        }
        let place = |value: Value| places.get(value as usize).copied().unwrap_or(NONE);
        pass.rec.work(ENCODE);
        pass.rec.store(out_at.at(out.len() as u64));
        out.push(Ir {
            what: ir.what,
            to: place(ir.to),
            from: ir.from.map(place),
        });
    }
    for (index, ir) in out.iter_mut().enumerate() {
        if let What::Unless(label) | What::Jump(label) = &mut ir.what {
            *label = labels[&*label];
            pass.rec.store(out_at.at(index as u64));
        }
    }
    Compiled {
        code: out,
        arguments: [places[0], places[1], places[2]],
    }
}

fn variables(values: &[Value]) -> u64 {
    let variables = values.iter().filter(|value| (**value as usize) < VARIABLES);
    variables.fold(0, |set, value| set | 1 << value)
}

/// Variables that are read later, before each instruction; the passes go on until nothing changes.
fn liveness(code: &[Ir], pass: &mut Pass) -> Vec<u64> {
    let mut alive = vec![0; code.len() + 1];
    let mut at_label: BTreeMap<u32, u64> = BTreeMap::new();
    loop {
        let mut changed = false;
        for (index, ir) in code.iter().enumerate().rev() {
            pass.visit(index);
            let behind = alive[index + 1];
            let target = |label: &u32| at_label.get(label).copied().unwrap_or(0);
            let after = match &ir.what {
                What::Return => 0,
                What::Jump(label) => target(label),
                What::Unless(label) => target(label) | behind,
                _ => behind,
            };
            alive[index] = after & !variables(&[ir.to]) | variables(&ir.from);
            if let What::Label(label) = ir.what {
                changed |= at_label.insert(label, alive[index]) != Some(alive[index]);
            }
        }
        if !changed {
            return alive;
        }
    }
}

/// Leaves out what nobody reads, and moves the others together. Calls have no effects.
fn remove_dead(code: &mut Vec<Ir>, values: Value, alive: &[u64], pass: &mut Pass) {
    let mut used = vec![false; values as usize];
    let mut keep = vec![true; code.len()];
    for (index, ir) in code.iter().enumerate().rev() {
        pass.visit(index);
        let is_read =
            ir.to == NONE || variables(&[ir.to]) & alive[index + 1] != 0 || used[ir.to as usize];
        keep[index] = is_read;
        let from = ir.from.iter().filter(|from| is_read && **from != NONE);
        // `alive` says what a variable holds.
        from.filter(|from| **from as usize >= VARIABLES)
            .for_each(|from| used[*from as usize] = true);
    }
    let kept = keep.iter().enumerate().filter(|(_, is_kept)| **is_kept);
    for (to, (from, _)) in kept.enumerate().filter(|(to, (from, _))| to != from) {
        pass.rec.load(pass.code_at.at(from as u64));
        pass.rec.work(MOVE);
        pass.rec.store(pass.code_at.at(to as u64));
    }
    let mut keep = keep.into_iter();
    code.retain(|_| keep.next() == Some(true));
}

/// A place for each value: the variables used most have registers for good, other values by linear
/// scan, and the frame has the rest.
fn allocate(code: &[Ir], values: Value, pass: &mut Pass) -> Vec<u32> {
    let mut uses = [0_u32; VARIABLES];
    let mut last = vec![0; values as usize];
    for (index, ir) in code.iter().enumerate() {
        pass.visit(index);
        for value in ir
            .from
            .iter()
            .chain([&ir.to])
            .filter(|value| **value != NONE)
        {
            last[*value as usize] = index;
            if let Some(uses) = uses.get_mut(*value as usize) {
                *uses += 1;
            }
        }
    }
    let frame = REGISTERS;
    let mut places: Vec<u32> = (0..values).map(|value| frame + value).collect();
    let mut order: Vec<usize> = (0..VARIABLES).collect();
    order.sort_by_key(|variable| std::cmp::Reverse(uses[*variable]));
    for (register, variable) in (0..).zip(&order[..OF_VARIABLES]) {
        places[*variable] = register;
    }
    let mut taken: [Option<Value>; OF_VALUES] = [None; OF_VALUES];
    for (index, ir) in code.iter().enumerate() {
        let to = ir.to;
        if to == NONE || (to as usize) < VARIABLES {
            continue;
        }
        pass.rec.work(ALLOCATE);
        let free =
            |holder: &Option<Value>| holder.is_none_or(|value| last[value as usize] <= index);
        if let Some(register) = taken.iter().position(free) {
            taken[register] = Some(to);
            places[to as usize] = (OF_VARIABLES + register) as u32;
        }
    }
    places
}

/// Runs machine code.
pub(super) fn run(all: &[Compiled], function: u32, arguments: [i64; PARAMETERS]) -> i64 {
    let own = &all[function as usize];
    let named = own
        .code
        .iter()
        .flat_map(|ir| ir.from.into_iter().chain([ir.to]));
    let named = named.filter(|place| *place != NONE).chain(own.arguments);
    let mut places = vec![0; named.max().map_or(0, |most| most as usize + 1)];
    for (place, value) in own.arguments.into_iter().zip(arguments) {
        places[place as usize] = value;
    }
    let mut at = 0;
    loop {
        let ir = &own.code[at];
        let from = |index: usize| places[ir.from[index] as usize];
        at += 1;
        let value = match ir.what {
            What::Number(value) => value,
            What::Copy => from(0),
            What::Binary(op) => op.apply(from(0), from(1)),
            What::Call(callee) => run(all, callee, [0, 1, 2].map(from)),
            What::Return => return from(0),
            What::Jump(to) => {
                at = to as usize;
                continue;
            }
            What::Unless(to) => {
                if from(0) == 0 {
                    at = to as usize;
                }
                continue;
            }
            What::Label(_) => unreachable!("labels have places"),
        };
        places[ir.to as usize] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Arena;
    use super::*;
    use sluice_host::MemOp;

    #[test]
    fn what_stays_is_stored_where_it_moves_to() {
        let number = |to| Ir {
            what: What::Number(1),
            to: VARIABLES as Value + to,
            from: [NONE; PARAMETERS],
        };
        let back = |of: Value| Ir {
            what: What::Return,
            to: NONE,
            from: [VARIABLES as Value + of, NONE, NONE],
        };
        // The second and the fourth are read by nobody.
        let mut code = vec![number(0), number(1), back(0), number(2), back(0)];
        let code_at = Arena::default().array(5, 16);
        let mut out = Vec::new();
        {
            let rec = &mut Recorder::new(&mut out);
            let pass = &mut Pass { code_at, rec };
            remove_dead(&mut code, VARIABLES as Value + 3, &[0; 6], pass);
        }
        let stores = out.iter().filter(|instr| instr.op == MemOp::Store);
        let stores: Vec<u64> = stores.map(|instr| instr.addr).collect();
        assert_eq!(stores, [code_at.at(1), code_at.at(2)]);
        assert_eq!(code.len(), 3);
    }
}
