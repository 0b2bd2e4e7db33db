//! Bodies as they come over the wire: packed or not, and never larger than allowed.

use std::io::{self, Write};

use brotli_decompressor::{BrotliDecoderParameter, DecompressorWriter};
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// What a request says it can unpack.
pub(super) const ACCEPTED: &str = "gzip, deflate, br";

/// How much brotli unpacks at once, in bytes.
const PIECE_BYTES: usize = 16 << 10;

/// The low four bits of the first byte of a zlib stream (RFC 1950, 2.2: compression method 8).
const ZLIB_METHOD: u8 = 8;

/// Takes a body piece by piece and keeps what it unpacks to, up to a limit that counts unpacked bytes: a small body
/// that unpacks to a large one costs no more memory than the limit.
pub(super) enum Unpacker {
    /// As it is.
    Plain(Kept),
    /// `gzip`, with any number of members.
    Gzip(MultiGzDecoder<Kept>),
    /// `deflate`, before its first byte.
    Deflate(Kept),
    /// `deflate` as the standard says.
    Zlib(ZlibDecoder<Kept>),
    /// `deflate` as some servers understand it: without the envelope.
    Bare(DeflateDecoder<Kept>),
    /// `br`.
    Brotli(Box<DecompressorWriter<Kept>>),
}

/// What was unpacked so far.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// At most as many as allowed.
    pub bytes: Vec<u8>,
    /// Whether there was more.
    pub overflowed: bool,
    bytes_max: usize,
}

impl Write for Kept {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let room = self.bytes_max - self.bytes.len();
        self.bytes.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            self.overflowed = true;
            return Err(io::Error::new(io::ErrorKind::StorageFull, "the body is longer than allowed"));
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Unpacker {
    /// For a body in `coding`, the value of `Content-Encoding`; keeps `bytes_max` bytes.
    ///
    /// # Errors
    /// If it is packed in a way that was not asked for, or in several, one inside the other.
    pub fn new(coding: &str, bytes_max: usize) -> io::Result<Unpacker> {
        let kept = Kept { bytes: Vec::new(), overflowed: false, bytes_max };
        match coding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Unpacker::Plain(kept)),
            "gzip" | "x-gzip" => Ok(Unpacker::Gzip(MultiGzDecoder::new(kept))),
            "deflate" => Ok(Unpacker::Deflate(kept)),
            "br" => {
                let mut decoder = DecompressorWriter::new(kept, PIECE_BYTES);
                // Windows of up to a gigabyte, which no browser takes (RFC 7932 ends at 16 MiB).
                decoder.set_parameter(BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
                Ok(Unpacker::Brotli(Box::new(decoder)))
            }
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, "it is packed in a way that was not asked for")),
        }
    }

    /// Takes the next piece.
    ///
    /// # Errors
    /// If it cannot be unpacked, or nothing more is kept ([`Unpacker::is_full`]).
    pub fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        if let (Unpacker::Deflate(kept), Some(first)) = (&mut *self, piece.first()) {
            let kept = std::mem::take(kept);
            *self = if first & 0x0f == ZLIB_METHOD {
                Unpacker::Zlib(ZlibDecoder::new(kept))
            } else {
                Unpacker::Bare(DeflateDecoder::new(kept))
            };
        }
        match self {
            Unpacker::Plain(kept) | Unpacker::Deflate(kept) => kept.write_all(piece),
            Unpacker::Gzip(decoder) => decoder.write_all(piece),
            Unpacker::Zlib(decoder) => decoder.write_all(piece),
            Unpacker::Bare(decoder) => decoder.write_all(piece),
            Unpacker::Brotli(decoder) => decoder.write_all(piece),
        }
    }

    /// Whether there is more than is kept.
    pub fn is_full(&self) -> bool {
        match self {
            Unpacker::Plain(kept) | Unpacker::Deflate(kept) => kept.overflowed,
            Unpacker::Gzip(decoder) => decoder.get_ref().overflowed,
            Unpacker::Zlib(decoder) => decoder.get_ref().overflowed,
            Unpacker::Bare(decoder) => decoder.get_ref().overflowed,
            Unpacker::Brotli(decoder) => decoder.get_ref().overflowed,
        }
    }

    /// The body, after its last piece.
    ///
    /// # Errors
    /// If what was packed is not complete, and that is not because nothing more is kept.
    pub fn finish(mut self) -> io::Result<Kept> {
        let ended = match &mut self {
            Unpacker::Plain(_) | Unpacker::Deflate(_) => Ok(()),
            Unpacker::Gzip(decoder) => decoder.try_finish(),
            Unpacker::Zlib(decoder) => decoder.try_finish(),
            Unpacker::Bare(decoder) => decoder.try_finish(),
            Unpacker::Brotli(decoder) => decoder.close(),
        };
        let full = self.is_full();
        let kept = std::mem::take(match &mut self {
            Unpacker::Plain(kept) | Unpacker::Deflate(kept) => kept,
            Unpacker::Gzip(decoder) => decoder.get_mut(),
            Unpacker::Zlib(decoder) => decoder.get_mut(),
            Unpacker::Bare(decoder) => decoder.get_mut(),
            Unpacker::Brotli(decoder) => decoder.get_mut(),
        });
        if full { Ok(kept) } else { ended.map(|()| kept) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn unpack(coding: &str, packed: &[u8], bytes_max: usize, piece: usize) -> io::Result<Kept> {
        let mut unpacker = Unpacker::new(coding, bytes_max)?;
        for piece in packed.chunks(piece) {
            match unpacker.take(piece) {
                Err(_) if unpacker.is_full() => break,
                taken => taken?,
            }
        }
        unpacker.finish()
    }

    /// "Hello, hive!" from the reference encoder.
    const BROTLI: &[u8] = b"\x8b\x05\x80Hello, hive!\x03";

    /// Eight mebibytes of zeros, from there too.
    const BROTLI_BOMB: &[u8] = b"\x9b\xff\xff\x7f\xf8\x27\x00\xe2\xb1\x40\x20\xf7\xfe\x0f";

    proptest! {
        #[test]
        fn what_was_packed_comes_back(bytes: Vec<u8>, piece in 1_usize..50) {
            let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
            zlib.write_all(&bytes).unwrap();
            let mut bare = DeflateEncoder::new(Vec::new(), Compression::fast());
            bare.write_all(&bytes).unwrap();
            for (coding, packed) in [
                ("", bytes.clone()), ("identity", bytes.clone()), ("GZIP", gzip(&bytes)),
                ("deflate", zlib.finish().unwrap()), ("deflate", bare.finish().unwrap()),
            ] {
                let kept = unpack(coding, &packed, bytes.len(), piece).unwrap();
                prop_assert_eq!((&kept.bytes, kept.overflowed), (&bytes, false), "{}", coding);
            }
        }

        #[test]
        fn rubbish_is_an_error_and_not_a_panic(bytes: Vec<u8>, piece in 1_usize..50) {
            for coding in ["gzip", "deflate", "br"] {
                if let Ok(kept) = unpack(coding, &bytes, 100, piece) {
                    prop_assert!(kept.bytes.len() <= 100);
                }
            }
        }
    }

    #[test]
    fn brotli_is_unpacked() {
        assert_eq!(unpack("br", BROTLI, 100, 3).unwrap().bytes, b"Hello, hive!");
        let cut = unpack("br", BROTLI, 5, 3).unwrap();
        assert_eq!((&*cut.bytes, cut.overflowed), (&b"Hello"[..], true));
        assert!(unpack("br", &BROTLI[..8], 100, 8).is_err());
    }

    #[test]
    fn a_bomb_is_kept_up_to_the_limit() {
        let bomb = gzip(&vec![0; 64 << 20]);
        assert!(bomb.len() < 100 << 10);
        let kept = unpack("gzip", &bomb, 1 << 20, 1 << 10).unwrap();
        assert_eq!((kept.bytes.len(), kept.overflowed), (1 << 20, true));
        assert!(kept.bytes.capacity() <= 2 << 20);
        assert_eq!(unpack("br", BROTLI_BOMB, 8 << 20, 4).unwrap().bytes, vec![0; 8 << 20]);
        let kept = unpack("br", BROTLI_BOMB, 1 << 20, 4).unwrap();
        assert_eq!((kept.bytes.len(), kept.overflowed), (1 << 20, true));
    }

    #[test]
    fn several_members_are_one_body_and_half_a_one_is_an_error() {
        let two = [gzip(b"one "), gzip(b"two")].concat();
        assert_eq!(unpack("gzip", &two, 100, 4).unwrap().bytes, b"one two");
        assert!(unpack("gzip", &two[..two.len() - 4], 100, 4).is_err());
        assert!(unpack("gzip, br", &two, 100, 4).is_err());
        assert!(unpack("zstd", &two, 100, 4).is_err());
    }
}
