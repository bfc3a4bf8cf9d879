// SPDX-License-Identifier: GPL-2.0

//! The operators of a print format.

use quote::{
    quote,
    quote_spanned, //
};
use syn::{
    spanned::Spanned,
    BinOp,
    Error,
    Expr,
    Ident,
    Result,
    UnOp, //
};

use super::{
    super::{
        root,
        root_at, //
    },
    is_clearly_string,
    plain,
    Code,
    Piece,
    Printer,
    Value, //
};

impl Printer<'_> {
    /// Returns the value of `a + b` or of another binary expression.
    pub(super) fn binary(&self, expr: &syn::ExprBinary) -> Result<Value> {
        let at = expr.op.span();
        let root = root_at(at);
        let (left, right) = (self.value(&expr.left)?, self.value(&expr.right)?);
        let (op, method) = match &expr.op {
            BinOp::Add(_) => ("+", Some("add")),
            BinOp::Sub(_) => ("-", Some("sub")),
            BinOp::Mul(_) => ("*", Some("mul")),
            BinOp::Div(_) => ("/", Some("div")),
            BinOp::Rem(_) => ("%", Some("rem")),
            BinOp::Shl(_) => ("<<", Some("shl")),
            BinOp::Shr(_) => (">>", Some("shr")),
            BinOp::BitAnd(_) => ("&", None),
            BinOp::BitOr(_) => ("|", None),
            BinOp::BitXor(_) => ("^", None),
            BinOp::Eq(_) => ("==", None),
            BinOp::Ne(_) => ("!=", None),
            BinOp::Lt(_) => ("<", None),
            BinOp::Le(_) => ("<=", None),
            BinOp::Gt(_) => (">", None),
            BinOp::Ge(_) => (">=", None),
            BinOp::And(_) => ("&&", None),
            BinOp::Or(_) => ("||", None),
            _ => return Err(Error::new(at, "a print format cannot assign")),
        };
        let mut text = left.inner();
        text.push(plain(format!(" {op} ")));
        text.extend(right.inner());

        let operator = &expr.op;
        let code = match (left.code, right.code, &expr.op) {
            (Code::Truth(a), Code::Truth(b), BinOp::And(_) | BinOp::Or(_)) => {
                Code::Truth(quote!((#a #operator #b)))
            }
            (_, _, BinOp::And(_) | BinOp::Or(_)) => {
                return Err(Error::new(
                    at,
                    "a comparison or a `bool` field is wanted on both sides",
                ))
            }
            (
                Code::Number(a),
                Code::Number(b),
                BinOp::Eq(_)
                | BinOp::Ne(_)
                | BinOp::Lt(_)
                | BinOp::Le(_)
                | BinOp::Gt(_)
                | BinOp::Ge(_),
            )
            | (Code::Truth(a), Code::Truth(b), BinOp::Eq(_) | BinOp::Ne(_)) => {
                Code::Truth(quote_spanned!(at=> (#a #operator #b)))
            }
            (Code::Number(a), Code::Number(b), _) => Code::Number(match method {
                Some(method) => {
                    let method = Ident::new(method, at);
                    quote_spanned!(at=> #root::Number::#method(#a, #b))
                }
                None => quote_spanned!(at=> (#a #operator #b)),
            }),
            _ => return Err(Error::new(at, "numbers are wanted on both sides")),
        };
        Ok(Value {
            text,
            code,
            open: true,
            given: false,
        })
    }

    /// Returns the single expression of a branch.
    fn branch<'e>(&self, block: &'e syn::Block) -> Result<&'e Expr> {
        match block.stmts.as_slice() {
            [syn::Stmt::Expr(expr, None)] => Ok(expr),
            _ => Err(Error::new(block.span(), "one expression is wanted here")),
        }
    }

    /// Returns the value of `-a` or `!a`.
    pub(super) fn unary(&self, unary: &syn::ExprUnary) -> Result<Value> {
        let root = root();
        let at = unary.span();
        let value = self.value(&unary.expr)?;
        let (sign, code) = match (&unary.op, &value.code) {
            (UnOp::Neg(_), Code::Number(code)) => (
                "-",
                Code::Number(quote_spanned!(at=> #root::Number::neg(#code))),
            ),
            (UnOp::Not(_), Code::Number(code)) => (
                "~",
                Code::Number(quote_spanned!(at=> #root::Number::not(#code))),
            ),
            (UnOp::Not(_), Code::Truth(code)) => ("!", Code::Truth(quote!((!#code)))),
            _ => return Err(Error::new(at, "a number is wanted")),
        };
        let mut text = vec![plain(sign)];
        text.extend(value.inner());
        Ok(Value {
            text,
            code,
            open: true,
            given: false,
        })
    }

    /// Returns the value of `a as u32`.
    pub(super) fn cast(&self, cast: &syn::ExprCast) -> Result<Value> {
        let root = root();
        let at = cast.span();
        let (value, code) = self.number(&cast.expr)?;
        let ty = &cast.ty;
        let mut text = vec![
            plain("("),
            Piece::Str(quote_spanned!(ty.span()=> <#ty as #root::Scalar>::NAME)),
            plain(")"),
        ];
        text.extend(value.inner());
        Ok(Value {
            text,
            code: Code::Number(quote_spanned!(at=> (#code as #ty))),
            open: false,
            given: false,
        })
    }

    /// Returns the value of `if a { b } else { c }`.
    pub(super) fn choice(&self, branch: &syn::ExprIf) -> Result<Value> {
        let at = branch.span();
        let condition = self.value(&branch.cond)?;
        let Code::Truth(truth) = &condition.code else {
            return Err(Error::new(
                branch.cond.span(),
                "a comparison or a `bool` field is wanted",
            ));
        };
        let yes = self.value(self.branch(&branch.then_branch)?)?;
        let no = match branch.else_branch.as_ref().map(|(_, expr)| &**expr) {
            Some(Expr::Block(block)) => self.value(self.branch(&block.block)?)?,
            Some(expr) => self.value(expr)?,
            None => return Err(Error::new(at, "an `else` is wanted")),
        };
        // A comparison binds stronger.
        let mut text = condition.text.clone();
        text.push(plain(" ? "));
        text.extend(yes.inner());
        text.push(plain(" : "));
        text.extend(no.inner());
        let code = match (yes.code, no.code) {
            (Code::Number(yes), Code::Number(no)) => {
                Code::Number(quote!((if #truth { #yes } else { #no })))
            }
            (Code::Str(yes), Code::Str(no)) if is_clearly_string(&text) => {
                Code::Str(quote!((if #truth { #yes } else { #no })))
            }
            (Code::Str(_), Code::Str(_)) => {
                return Err(Error::new(
                    at,
                    "C would take the first field in here for a pointer to a string: \
                     one branch has to be in quotation marks or a `str` field",
                ))
            }
            _ => return Err(Error::new(at, "both branches are numbers or both strings")),
        };
        Ok(Value {
            text,
            code,
            open: true,
            given: false,
        })
    }
}
