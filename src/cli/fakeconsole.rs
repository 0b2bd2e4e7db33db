use std::sync::Arc; use base::Stop; 
pub struct Console;
impl Console { pub fn terminal(_:Stop)->channels::memory::Memory { channels::memory::Memory::new(channels::Kind::Console)} pub fn socket(_:&std::path::Path)->std::io::Result<channels::memory::Memory>{Ok(channels::memory::Memory::new(channels::Kind::Console))}}
pub fn _x(_:Arc<u8>){}
