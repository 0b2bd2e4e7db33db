//! What people and agents write in Markdown, read into values: forgiving about the form, exact about what is wrong.
//!
//! | file | one thing |
//! |---|---|
//! | `folder` | the files of a folder: bounded, and none from outside of it |
//! | `document` | a text's title, sections and bullets |
//! | `front` | what stands above the text between two lines `---` |
//! | `bullet` | a name and what is said of it |
//! | `slug` | names of skills and subagents |
//! | `fault` | what is wrong: file, line, and what to do |
//!
//! Reading never fails as a whole: what can be read is, and everything else is a [`Fault`].

mod bullet;
mod document;
mod fault;
mod folder;
mod front;
mod slug;
#[cfg(test)]
mod tests;

pub use bullet::Bullet;
pub use document::{Document, Heading, Section};
pub use fault::{Fault, Grade};
pub use folder::{FILE_BYTES_MAX, FILES_MAX, Folder, Kind, Listed, Text, Whose};
pub use front::Front;
pub use slug::Slug;

pub(crate) use folder::{as_text, is_outside, shown};
