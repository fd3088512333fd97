//! What hostile names, files and places must not achieve.

mod checks;
mod index;
mod keys;
mod roots;
mod terminal_output;
