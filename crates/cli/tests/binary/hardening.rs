//! What hostile names, files and places must not achieve.

mod index;
mod keys;
mod roots;
mod screen;
