//! The server over HTTP, as whoever runs it meets it: keys, stores, signals, logs.

pub(crate) mod access_control;
mod crashes;
pub(crate) mod host;
pub(crate) mod http;
pub(crate) mod keys;
mod logs;
mod reload;
mod signals;
pub(crate) mod stores;
