//! Operators on values, checked where bounds do not already prove that nothing can go wrong.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use hadal_system::interval::{self, decided};
use hadal_system::{BinaryOp, Domain, UnaryOp};

use super::emit::Emitter;
use super::values::Val;

impl Emitter<'_, '_> {
    /// Applies an operator to one value.
    pub fn unary(&mut self, op: UnaryOp, value: Val) -> Val {
        if let Val::Const(c) = value {
            return match op.apply(c) {
                Some(result) => Val::Const(result),
                None => {
                    self.always_fault();
                    Val::Const(0)
                }
            };
        }
        let (lo, hi) = value.bounds();
        let v = self.raw(value);
        match op {
            UnaryOp::Negate => {
                if lo == i64::MIN {
                    let fits = self.is(IntCC::NotEqual, v, i64::MIN);
                    self.require(fits);
                }
                let v = self.b.ins().ineg(v);
                Val::Dyn { v, lo: hi.saturating_neg(), hi: lo.saturating_neg() }
            }
            UnaryOp::BitNot => {
                let v = self.b.ins().bnot(v);
                Val::Dyn { v, lo: !hi, hi: !lo }
            }
            UnaryOp::Not => {
                let zero = self.is(IntCC::Equal, v, 0);
                self.truth(zero)
            }
        }
    }

    /// Brings a value into a domain of one interval; costs nothing where its bounds lie inside already.
    pub fn wrap(&mut self, value: Val, domain: &Domain) -> Val {
        let (lo, hi) = (domain.min(), domain.max());
        if let Val::Const(c) = value {
            return Val::Const(domain.wrap(c));
        }
        let (least, most) = value.bounds();
        if lo <= least && most <= hi {
            return value;
        }
        let v = self.raw(value);
        // Arithmetic modulo 2^64 agrees with that modulo a power of two.
        let size = (hi.wrapping_sub(lo) as u64).wrapping_add(1);
        let v = if size == 0 {
            v
        } else if size.is_power_of_two() {
            let start = self.int(lo);
            let offset = if lo == 0 { v } else { self.b.ins().isub(v, start) };
            let mask = self.int(size.wrapping_sub(1) as i64);
            let offset = self.b.ins().band(offset, mask);
            if lo == 0 { offset } else { self.b.ins().iadd(offset, start) }
        } else {
            // Remainders first: then nothing overflows.
            let modulus = self.int(size as i64);
            let rest = self.b.ins().srem(v, modulus);
            let start = self.int(lo.rem_euclid(size as i64));
            let offset = self.b.ins().isub(rest, start);
            let offset = self.b.ins().srem(offset, modulus);
            let more = self.b.ins().iadd(offset, modulus);
            let negative = self.is(IntCC::SignedLessThan, offset, 0);
            let offset = self.b.ins().select(negative, more, offset);
            let first = self.int(lo);
            self.b.ins().iadd(first, offset)
        };
        Val::Dyn { v, lo, hi }
    }

    /// Applies an operator to two values, both already computed.
    pub fn binary(&mut self, op: BinaryOp, left: Val, right: Val) -> Val {
        if let (Val::Const(l), Val::Const(r)) = (left, right) {
            return match op.apply(l, r) {
                Some(result) => Val::Const(result),
                None => {
                    self.always_fault();
                    Val::Const(0)
                }
            };
        }
        let (lb, rb) = (left.bounds(), right.bounds());
        if let Some(answer) = decided(op, lb, rb) {
            return Val::Const(answer.into());
        }
        let bounds = interval::binary(op, lb, rb);
        let (l, r) = (self.raw(left), self.raw(right));
        let v = match op {
            BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply => self.sum(op, l, r, bounds.is_some()),
            BinaryOp::Divide | BinaryOp::Remainder => return self.quotient(op, (l, lb), (r, rb)),
            BinaryOp::ShiftLeft => self.shift(l, r, right),
            BinaryOp::ShiftRight => self.shift_back(l, r, right),
            BinaryOp::BitAnd => self.b.ins().band(l, r),
            BinaryOp::BitOr => self.b.ins().bor(l, r),
            BinaryOp::BitXor => self.b.ins().bxor(l, r),
            BinaryOp::Equal => return self.comparison(IntCC::Equal, l, r),
            BinaryOp::NotEqual => return self.comparison(IntCC::NotEqual, l, r),
            BinaryOp::Less => return self.comparison(IntCC::SignedLessThan, l, r),
            BinaryOp::LessEqual => return self.comparison(IntCC::SignedLessThanOrEqual, l, r),
            BinaryOp::Greater => return self.comparison(IntCC::SignedGreaterThan, l, r),
            BinaryOp::GreaterEqual => return self.comparison(IntCC::SignedGreaterThanOrEqual, l, r),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Implies => {
                unreachable!("connectives branch")
            }
        };
        let (lo, hi) = bounds.unwrap_or((i64::MIN, i64::MAX));
        Val::Dyn { v, lo, hi }
    }

    fn comparison(&mut self, op: IntCC, left: Value, right: Value) -> Val {
        let test = self.compare(op, left, right);
        self.truth(test)
    }

    fn sum(&mut self, op: BinaryOp, l: Value, r: Value, fits: bool) -> Value {
        match op {
            BinaryOp::Multiply => {
                let low = self.b.ins().imul(l, r);
                if !fits {
                    let high = self.b.ins().smulhi(l, r);
                    let by = self.int(63);
                    let sign = self.b.ins().sshr(low, by);
                    let ok = self.compare(IntCC::Equal, high, sign);
                    self.require(ok);
                }
                low
            }
            _ => {
                let add = op == BinaryOp::Add;
                let result = if add { self.b.ins().iadd(l, r) } else { self.b.ins().isub(l, r) };
                if !fits {
                    // Overflow flips the sign against both operands (of the difference: the left and the negated
                    // right one).
                    let a = self.b.ins().bxor(l, result);
                    let b = if add { self.b.ins().bxor(r, result) } else { self.b.ins().bxor(l, r) };
                    let both = self.b.ins().band(a, b);
                    let ok = self.is(IntCC::SignedGreaterThanOrEqual, both, 0);
                    self.require(ok);
                }
                result
            }
        }
    }

    fn quotient(&mut self, op: BinaryOp, (l, lb): (Value, (i64, i64)), (r, rb): (Value, (i64, i64))) -> Val {
        if rb.0 <= 0 && rb.1 >= 0 {
            let ok = self.is(IntCC::NotEqual, r, 0);
            self.require(ok);
        }
        let minus_one = rb.0 <= -1 && rb.1 >= -1;
        let (lo, hi) = interval::binary(op, lb, rb).unwrap_or((i64::MIN, i64::MAX));
        let v = match op {
            BinaryOp::Divide => {
                if minus_one && lb.0 == i64::MIN {
                    let least = self.is(IntCC::Equal, l, i64::MIN);
                    let negates = self.is(IntCC::Equal, r, -1);
                    let bad = self.b.ins().band(least, negates);
                    let ok = self.is_zero_flag(bad);
                    self.require(ok);
                }
                self.b.ins().sdiv(l, r)
            }
            _ if minus_one => {
                // x % -1 is 0; the machine would trap on the least integer. x % 1 is 0 as well.
                let negates = self.is(IntCC::Equal, r, -1);
                let one = self.int(1);
                let divisor = self.b.ins().select(negates, one, r);
                self.b.ins().srem(l, divisor)
            }
            _ => self.b.ins().srem(l, r),
        };
        Val::Dyn { v, lo, hi }
    }

    fn is_zero_flag(&mut self, flag: Value) -> Value {
        let one = self.b.ins().iconst(cranelift_codegen::ir::types::I8, 1);
        self.b.ins().bxor(flag, one)
    }

    /// `l << r` with the language's meaning of any amount.
    fn shift(&mut self, l: Value, r: Value, right: Val) -> Value {
        if let (0.., ..64) = right.bounds() {
            return self.b.ins().ishl(l, r);
        }
        let left = self.b.ins().ishl(l, r);
        let zero = self.int(0);
        let small = self.is(IntCC::UnsignedLessThan, r, 64);
        let left = self.b.ins().select(small, left, zero);
        let amount = self.b.ins().ineg(r);
        let limit = self.int(63);
        // The least integer negates to itself: as an unsigned amount it is large, as it should be.
        let amount = self.b.ins().umin(amount, limit);
        let back = self.b.ins().sshr(l, amount);
        let negative = self.is(IntCC::SignedLessThan, r, 0);
        self.b.ins().select(negative, back, left)
    }

    /// `l >> r` with the language's meaning of any amount.
    fn shift_back(&mut self, l: Value, r: Value, right: Val) -> Value {
        if let (0.., ..64) = right.bounds() {
            return self.b.ins().sshr(l, r);
        }
        let limit = self.int(63);
        let amount = self.b.ins().umin(r, limit);
        let back = self.b.ins().sshr(l, amount);
        let amount = self.b.ins().ineg(r);
        let forward = self.b.ins().ishl(l, amount);
        let zero = self.int(0);
        let small = self.is(IntCC::UnsignedLessThan, amount, 64);
        let forward = self.b.ins().select(small, forward, zero);
        let negative = self.is(IntCC::SignedLessThan, r, 0);
        self.b.ins().select(negative, forward, back)
    }
}
