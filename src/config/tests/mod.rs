//! The configuration as a whole: files and variables in, the meaning or every fault out.

mod errors;
mod manual;
mod meaning;
mod nonsense;

use std::path::Path;

use super::{Config, ConfigErrors, Environment, load};

/// What a user wrote: files by name under the data directory, and variables.
struct Written {
    dir: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl Written {
    fn nothing() -> Self {
        Written { dir: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    fn file(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.data().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn data(&self) -> &Path {
        self.dir.path()
    }

    fn load(&self) -> Result<Config, ConfigErrors> {
        let data_dir = ("HIVE_DATA_DIR".to_owned(), self.data().to_str().unwrap().to_owned());
        let given = self.variables.iter().any(|(name, _)| name == "HIVE_DATA_DIR");
        let data_dir = (!given).then_some(data_dir);
        load(&Environment::from_pairs(self.variables.iter().cloned().chain(data_dir)))
    }

    fn config(&self) -> Config {
        self.load().unwrap_or_else(|errors| panic!("{errors}"))
    }

    /// The faults as they are shown, one a line.
    fn faults(&self) -> Vec<String> {
        match self.load() {
            Ok(_) => Vec::new(),
            Err(errors) => errors.faults.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The one file `name` with this text.
fn file(name: &str, text: &str) -> Written {
    Written::nothing().file(name, text)
}
