// SPDX-License-Identifier: GPL-2.0

//! Synthetic events that are declared, with the types of their fields.

use super::{
    builder::{
        NotDeleted,
        SynthEvent,
        Type, //
    },
    trace::{
        Arg,
        Tracer, //
    },
    EventRef,
    MAX_FIELDS,
    STRING_MAX, //
};
use crate::{
    prelude::*,
    trace::{
        dynevent_cmd::is_name,
        event_mutex::{
            self,
            Held, //
        },
    },
    ThisModule, //
};
use core::marker::PhantomData;

/// The type of a field in [`synth_event!`](crate::synth_event).
///
/// These are the integers of Rust but for those of 128 bits, `bool`, and the types here that have
/// the names of C's, as C's tools show the type of a field.
pub trait FieldType {
    /// The type for C.
    const TYPE: Type;

    /// The type of the value of the field.
    type Value<'v>: Into<Arg<'v>> + Copy;
}

macro_rules! field_types {
    ($($(#[$doc:meta])* $ty:ty: $variant:ident = $value:ty,)*) => {
        $(impl FieldType for $ty {
            const TYPE: Type = Type::$variant;
            type Value<'v> = $value;
        })*
    };
}

field_types! {
    u8: U8 = u8,
    u16: U16 = u16,
    u32: U32 = u32,
    u64: U64 = u64,
    i8: S8 = i8,
    i16: S16 = i16,
    i32: S32 = i32,
    i64: S64 = i64,
    usize: UnsignedLong = usize,
    isize: Long = isize,
    bool: Bool = bool,
    Char: Char = i8,
    UnsignedChar: UnsignedChar = u8,
    Long: Long = isize,
    UnsignedLong: UnsignedLong = usize,
    Int: Int = i32,
    UnsignedInt: UnsignedInt = u32,
    Pid: Pid = i32,
    Gfp: Gfp = u32,
    DynString: DynString = &'v CStr,
}

/// `char`: a signed number.
pub enum Char {}

/// `unsigned char`
pub enum UnsignedChar {}

/// `long`
pub enum Long {}

/// `unsigned long`
pub enum UnsignedLong {}

/// `int`
pub enum Int {}

/// `unsigned int`
pub enum UnsignedInt {}

/// `pid_t`
pub enum Pid {}

/// `gfp_t`
pub enum Gfp {}

/// A string in an array of `N` bytes, from 1 to 256: [`Type::String`].
pub enum FixedString<const N: u16> {}

impl<const N: u16> FieldType for FixedString<N> {
    const TYPE: Type = {
        assert!(N >= 1 && N <= STRING_MAX, "a string has 1 to 256 bytes");
        Type::String(N)
    };
    type Value<'v> = &'v CStr;
}

/// A string that takes as much of a record as it has to: [`Type::DynString`].
pub enum DynString {}

/// An event that was declared by [`synth_event!`](crate::synth_event).
pub trait Declared: 'static {
    /// The name of the event.
    const NAME: &'static CStr;

    /// Types and names of its fields.
    const FIELDS: &'static [(Type, &'static CStr)];

    /// Values for all of its fields.
    type Values<'v>;

    /// Calls `f` with the values in the order of the fields.
    fn with_args<R>(values: &Self::Values<'_>, f: impl FnOnce(&[Arg<'_>]) -> R) -> R;
}

/// A [`SynthEvent`] that was declared.
pub struct DeclaredEvent<T: Declared> {
    event: SynthEvent,
    _declared: PhantomData<fn(T)>,
}

impl<T: Declared> DeclaredEvent<T> {
    /// Creates the event. Sleeps: takes `event_mutex`. See [`SynthEvent::create`].
    pub fn create(module: &'static ThisModule) -> Result<Self> {
        Ok(Self {
            event: SynthEvent::create(T::NAME, T::FIELDS, module)?,
            _declared: PhantomData,
        })
    }

    /// Returns the event, without the type of its fields.
    pub fn event(&self) -> &SynthEvent {
        &self.event
    }

    /// Generates the event for all listeners. See [`SynthEvent::emit`].
    #[inline]
    pub fn emit(&self, values: &T::Values<'_>) -> Result {
        if !self.event.is_enabled() {
            return Ok(());
        }
        T::with_args(values, |args| self.event.emit(args))
    }

    /// Returns a tracer, which generates the event in one instance. See [`SynthEvent::tracer`].
    pub fn tracer(&self, instance: Option<&CStr>) -> Result<DeclaredTracer<T>> {
        Ok(DeclaredTracer {
            tracer: self.event.tracer(instance)?,
            _declared: PhantomData,
        })
    }

    /// Deletes the event, or returns it on failure. See [`SynthEvent::delete`].
    pub fn delete(self) -> Result<(), NotDeleted> {
        self.event.delete()
    }
}

/// A [`Tracer`] of an event that was declared.
pub struct DeclaredTracer<T: Declared> {
    tracer: Tracer,
    _declared: PhantomData<fn(T)>,
}

impl<T: Declared> DeclaredTracer<T> {
    /// Finds the event, even if another user has created it. Sleeps: takes `event_mutex`. See
    /// [`Tracer::open`].
    ///
    /// # Errors
    ///
    /// - As for [`Tracer::open`].
    /// - `EINVAL` if its fields are not those declared, with the same names and types in the same
    ///   order.
    /// - `ENOMEM`.
    pub fn open(instance: Option<&CStr>) -> Result<Self> {
        let tracer = Tracer::open(instance, T::NAME)?;
        let declared = {
            let guard = event_mutex::lock();
            let held = guard.held();
            let event = EventRef::of_file(tracer.file().file(held), held).ok_or(EBUSY)?;
            let declared = has_fields(&event, T::FIELDS, held);

            event.release_unused(held);
            declared?
        };

        if !declared {
            return Err(EINVAL);
        }
        Ok(Self {
            tracer,
            _declared: PhantomData,
        })
    }

    /// Returns the tracer, without the type of the fields.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// Generates the event in the instance. See [`Tracer::trace`].
    #[inline]
    pub fn trace(&self, values: &T::Values<'_>) -> Result {
        T::with_args(values, |args| self.tracer.trace(args))
    }

    /// Generates the event for all listeners. See [`Tracer::emit`].
    #[inline]
    pub fn emit(&self, values: &T::Values<'_>) -> Result {
        T::with_args(values, |args| self.tracer.emit(args))
    }
}

/// Returns `true` if an event has exactly these fields.
fn has_fields(event: &EventRef, declared: &[(Type, &CStr)], held: Held<'_>) -> Result<bool> {
    if event.n_fields() != declared.len() {
        return Ok(false);
    }
    for (i, (ty, name)) in declared.iter().enumerate() {
        let Some(field) = event.field(i, held) else {
            return Ok(false);
        };
        // C writes this before a type whose length is not fixed.
        let found = field.ty().to_bytes();
        let found = found.strip_prefix(b"__data_loc ").unwrap_or(found);

        if field.name() != *name || found != ty.text()?.to_bytes() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the name of a field, without the prefix of a raw identifier.
#[doc(hidden)]
pub const fn field_name(ident: &CStr) -> &CStr {
    match ident.to_bytes_with_nul() {
        [b'r', b'#', name @ ..] => match CStr::from_bytes_with_nul(name) {
            Ok(name) => name,
            Err(_) => panic!("an identifier has no NUL"),
        },
        _ => ident,
    }
}

/// Checks a declaration by [`synth_event!`](crate::synth_event), as C would on creation of the
/// event.
#[doc(hidden)]
pub const fn check_declared(name: &CStr, fields: &[(Type, &CStr)]) {
    assert!(
        is_name(name),
        "the name of an event is a letter or _, and then letters, digits and _"
    );
    assert!(
        fields.len() <= MAX_FIELDS,
        "a synthetic event has up to 64 fields"
    );

    let mut rest = fields;
    while let [(_, name), behind @ ..] = rest {
        assert!(
            is_name(name),
            "the name of a field has letters of ASCII, digits and _"
        );
        rest = behind;
    }
}

/// Declares a synthetic event, and a struct of values for its fields.
///
/// # Examples
///
/// ```
/// use kernel::{
///     synth_event,
///     trace::synth::{
///         FixedString,
///         Pid, //
///     },
/// };
///
/// synth_event! {
///     /// A task that was seen.
///     struct Seen: c"rust_example_seen" {
///         /// Its number.
///         pid: Pid,
///         comm: FixedString<16>,
///         times: u64,
///     }
/// }
///
/// let event = Seen::create()?;
///
/// event.event().set_enabled(true)?;
/// event.emit(&Seen { pid: 1, comm: c"init", times: 3 })?;
/// event.event().set_enabled(false)?;
/// # Ok::<(), Error>(())
/// ```
///
/// A value that is missing, or is of another type, is an error of the compiler. So is a
/// `FixedString<257>` or any other size that C does not have, a name that C does not accept such as
/// `c"rust-example"`, and more than 64 fields.
#[macro_export]
#[expect(
    clippy::crate_in_macro_def,
    reason = "the module is that of who declares the event"
)]
macro_rules! synth_event {
    (
        $(#[$meta:meta])*
        $vis:vis struct $event:ident: $name:literal {
            $($(#[$field_meta:meta])* $field:ident: $ty:ty),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis struct $event<'v> {
            $(
                $(#[$field_meta])*
                $vis $field: <$ty as $crate::trace::synth::FieldType>::Value<'v>,
            )+
        }

        impl $crate::trace::synth::Declared for $event<'static> {
            const NAME: &'static $crate::str::CStr = $name;
            const FIELDS: &'static [(
                $crate::trace::synth::Type,
                &'static $crate::str::CStr,
            )] = &[$((
                <$ty as $crate::trace::synth::FieldType>::TYPE,
                $crate::trace::synth::field_name($crate::c_str!(::core::stringify!($field))),
            )),+];
            type Values<'v> = $event<'v>;

            #[inline]
            fn with_args<R>(
                values: &Self::Values<'_>,
                f: impl ::core::ops::FnOnce(&[$crate::trace::synth::Arg<'_>]) -> R,
            ) -> R {
                f(&[$(
                    ::core::convert::Into::<$crate::trace::synth::Arg<'_>>::into(values.$field)
                ),+])
            }
        }

        // Also of an event without a user.
        const _: () = $crate::trace::synth::check_declared(
            <$event<'static> as $crate::trace::synth::Declared>::NAME,
            <$event<'static> as $crate::trace::synth::Declared>::FIELDS,
        );

        impl $event<'static> {
            /// Creates the event. Sleeps: takes `event_mutex`.
            $vis fn create() -> $crate::error::Result<$crate::trace::synth::DeclaredEvent<Self>> {
                $crate::trace::synth::DeclaredEvent::create(
                    $crate::module::this_module::<crate::LocalModule>(),
                )
            }
        }
    };
}
