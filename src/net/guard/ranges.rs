//! The addresses that no public server has: every special-purpose block of IPv4 and IPv6.
//!
//! The tables are those of the IANA registries: special purpose IPv4
//! (<https://www.iana.org/assignments/iana-ipv4-special-registry>), special purpose IPv6
//! (<https://www.iana.org/assignments/iana-ipv6-special-registry>), IPv4 multicast
//! (<https://www.iana.org/assignments/multicast-addresses>) and the IPv6 address space, of which 2000::/3 alone is
//! given out (<https://www.iana.org/assignments/ipv6-address-space>). Blocks that the registries call globally
//! reachable (anycast for AS112 and AMT, NAT64's well-known prefix) are refused with the rest: no page is served from
//! there, and a prefix that holds an IPv4 address leads to whatever a gateway of this network makes of it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses, named.
#[derive(Debug)]
struct Block {
    /// The first address, as a number; of IPv4 in the low 32 bits.
    first: u128,
    /// How many of the low bits are free.
    free_bits: u32,
    /// What it is for, and where that is written.
    what: &'static str,
}

impl Block {
    const fn v4(address: [u8; 4], prefix: u32, what: &'static str) -> Block {
        let [a, b, c, d] = address;
        Block { first: Ipv4Addr::new(a, b, c, d).to_bits() as u128, free_bits: 32 - prefix, what }
    }

    const fn v6(address: [u16; 8], prefix: u32, what: &'static str) -> Block {
        let [a, b, c, d, e, f, g, h] = address;
        Block { first: Ipv6Addr::new(a, b, c, d, e, f, g, h).to_bits(), free_bits: 128 - prefix, what }
    }

    fn holds(&self, number: u128) -> bool {
        number.checked_shr(self.free_bits).unwrap_or(0) == self.first.checked_shr(self.free_bits).unwrap_or(0)
    }
}

/// The narrower block stands before the wider one that holds it, for its better name.
const V4: [Block; 20] = [
    Block::v4([0, 0, 0, 0], 8, "this network (RFC 791)"),
    Block::v4([10, 0, 0, 0], 8, "private use (RFC 1918)"),
    Block::v4([100, 64, 0, 0], 10, "shared by a provider's customers (RFC 6598)"),
    Block::v4([127, 0, 0, 0], 8, "loopback (RFC 1122)"),
    Block::v4([169, 254, 0, 0], 16, "link-local, where clouds keep their metadata (RFC 3927)"),
    Block::v4([172, 16, 0, 0], 12, "private use (RFC 1918)"),
    Block::v4([192, 0, 0, 0], 24, "protocol assignments (RFC 6890)"),
    Block::v4([192, 0, 2, 0], 24, "documentation (RFC 5737)"),
    Block::v4([192, 31, 196, 0], 24, "AS112 (RFC 7535)"),
    Block::v4([192, 52, 193, 0], 24, "multicast tunnels (RFC 7450)"),
    Block::v4([192, 88, 99, 0], 24, "6to4 relays (RFC 7526)"),
    Block::v4([192, 168, 0, 0], 16, "private use (RFC 1918)"),
    Block::v4([192, 175, 48, 0], 24, "AS112 (RFC 7534)"),
    Block::v4([198, 18, 0, 0], 15, "benchmarks (RFC 2544)"),
    Block::v4([198, 51, 100, 0], 24, "documentation (RFC 5737)"),
    Block::v4([203, 0, 113, 0], 24, "documentation (RFC 5737)"),
    Block::v4([224, 0, 0, 0], 4, "multicast (RFC 5771)"),
    Block::v4([255, 255, 255, 255], 32, "broadcast (RFC 919)"),
    Block::v4([240, 0, 0, 0], 4, "reserved (RFC 1112)"),
    // Not in a registry: public numbers behind which a cloud answers its own machines.
    // <https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16>
    Block::v4([168, 63, 129, 16], 32, "a cloud's own service"),
];

/// As [`V4`]. What is outside of 2000::/3 and has no name here is refused all the same.
const V6: [Block; 27] = [
    Block::v6([0, 0, 0, 0, 0, 0, 0, 0], 128, "unspecified (RFC 4291)"),
    Block::v6([0, 0, 0, 0, 0, 0, 0, 1], 128, "loopback (RFC 4291)"),
    Block::v6([0, 0, 0, 0, 0, 0, 0, 0], 96, "IPv4-compatible (RFC 4291)"),
    Block::v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96, "IPv4-mapped (RFC 4291)"),
    Block::v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96, "IPv4-translated (RFC 2765)"),
    Block::v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, "NAT64 (RFC 6052)"),
    Block::v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, "local NAT64 (RFC 8215)"),
    Block::v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64, "discard-only (RFC 6666)"),
    Block::v6([0x100, 0, 0, 1, 0, 0, 0, 0], 64, "dummy prefix (RFC 9780)"),
    Block::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, "Teredo (RFC 4380)"),
    Block::v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48, "benchmarks (RFC 5180)"),
    Block::v6([0x2001, 3, 0, 0, 0, 0, 0, 0], 32, "multicast tunnels (RFC 7450)"),
    Block::v6([0x2001, 4, 0x112, 0, 0, 0, 0, 0], 48, "AS112 (RFC 7535)"),
    Block::v6([0x2001, 0x10, 0, 0, 0, 0, 0, 0], 28, "ORCHID (RFC 4843)"),
    Block::v6([0x2001, 0x20, 0, 0, 0, 0, 0, 0], 28, "ORCHIDv2 (RFC 7343)"),
    Block::v6([0x2001, 0x30, 0, 0, 0, 0, 0, 0], 28, "drone remote ids (RFC 9374)"),
    Block::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "protocol assignments (RFC 2928)"),
    Block::v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, "documentation (RFC 3849)"),
    Block::v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "6to4 (RFC 3056)"),
    Block::v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48, "AS112 (RFC 7534)"),
    Block::v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "documentation (RFC 9637)"),
    Block::v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16, "segment routing (RFC 9602)"),
    Block::v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, "unique local (RFC 4193)"),
    Block::v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, "link-local (RFC 4291)"),
    Block::v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, "site-local (RFC 3879)"),
    Block::v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, "multicast (RFC 4291)"),
    Block::v6([0x200, 0, 0, 0, 0, 0, 0, 0], 7, "OSI addresses (RFC 4048)"),
];

/// All that is given out of IPv6.
const GLOBAL_UNICAST: Block = Block::v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3, "global unicast (RFC 4291)");

/// The upper half of an ISATAP interface identifier, which an IPv4 address follows (RFC 5214, 6.1); with the bit set
/// that says the address is unique in the world, and without it.
const ISATAP: [u32; 2] = [0x0000_5efe, 0x0200_5efe];

/// Why no public server has this address; `None` for a public one.
pub(super) fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    named(&V4, u128::from(address.to_bits()))
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    let number = address.to_bits();
    if let Some(what) = named(&V6, number) {
        return Some(what);
    }
    if !GLOBAL_UNICAST.holds(number) {
        return Some("outside of what is given out of IPv6 (RFC 4291)");
    }
    // A tunnel that any prefix may end in: it leads to the IPv4 address in its last 32 bits.
    let [.., a, b, c, d, e, f, g, h] = address.octets();
    let isatap = ISATAP.contains(&u32::from_be_bytes([a, b, c, d]));
    (isatap && special_v4(Ipv4Addr::new(e, f, g, h)).is_some()).then_some("ISATAP to a special address (RFC 5214)")
}

fn named(blocks: &[Block], number: u128) -> Option<&'static str> {
    blocks.iter().find(|block| block.holds(number)).map(|block| block.what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap_or_else(|_| panic!("{text} is no address"))
    }

    /// Every row of the registries, as they write them.
    const REGISTRY: &str = "
        0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.0.0/29
        192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24 192.31.196.0/24
        192.52.193.0/24 192.88.99.0/24 192.88.99.2/32 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
        203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 255.255.255.255/32
        ::1/128 ::/128 ::/96 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32
        2001:1::1/128 2001:1::2/128 2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28
        2001:30::/28 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10
        ff00::/8 ::ffff:0:0:0/96 4000::/3 8000::/2 c000::/3 e000::/4";

    #[test]
    fn both_ends_of_every_registered_block_are_special() {
        let mut rows = 0;
        for row in REGISTRY.split_whitespace() {
            let net: ipnet::IpNet = row.parse().unwrap();
            for end in [net.network(), net.broadcast()] {
                assert!(special(end).is_some(), "{end} of {row}");
            }
            rows += 1;
        }
        assert!(rows > 50);
    }

    #[test]
    fn what_lies_beside_a_block_is_public() {
        for text in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "168.63.129.15",
            "8.8.8.8",
            "93.184.216.34",
            "2000::",
            "2001:200::",
            "2001:db7::1",
            "2001:db9::1",
            "2003::",
            "2606:2800:220:1::1",
            "2620:4f:8001::",
            "3ffe::1",
            "3fff:1000::",
            "2a00:1450::1",
        ] {
            assert_eq!(special(address(text)), None, "{text}");
        }
    }

    #[test]
    fn a_block_is_known_by_its_best_name() {
        for (text, what) in [
            ("169.254.169.254", "link-local, where clouds keep their metadata (RFC 3927)"),
            ("255.255.255.255", "broadcast (RFC 919)"),
            ("::ffff:127.0.0.1", "IPv4-mapped (RFC 4291)"),
            ("::127.0.0.1", "IPv4-compatible (RFC 4291)"),
            ("64:ff9b::7f00:1", "NAT64 (RFC 6052)"),
            ("2002:7f00:1::", "6to4 (RFC 3056)"),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo (RFC 4380)"),
            ("fd00:ec2::254", "unique local (RFC 4193)"),
            ("2a00:1450::5efe:a00:5", "ISATAP to a special address (RFC 5214)"),
            ("2a00:1450::200:5efe:7f00:1", "ISATAP to a special address (RFC 5214)"),
        ] {
            assert_eq!(special(address(text)), Some(what), "{text}");
        }
        assert_eq!(special(address("2a00:1450::5efe:808:808")), None);
    }

    proptest! {
        /// The standard library's own judgement of the blocks that it knows.
        #[test]
        fn what_the_standard_library_calls_special_is_special(bits: u32, wide: u128) {
            let four = Ipv4Addr::from_bits(bits);
            let known = four.is_private() || four.is_loopback() || four.is_link_local() || four.is_multicast()
                || four.is_broadcast() || four.is_documentation() || four.is_unspecified();
            prop_assert!(!known || special(four.into()).is_some());
            let six = Ipv6Addr::from_bits(wide);
            let known = six.is_unique_local() || six.is_unicast_link_local() || six.is_multicast() || six.is_loopback();
            prop_assert!(!known || special(six.into()).is_some());
        }

        #[test]
        fn no_form_that_holds_an_ipv4_address_passes(bits: u32) {
            let number = u128::from(bits);
            let prefixes = ["::", "::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "64:ff9b:1::"];
            for prefix in prefixes {
                let prefix: Ipv6Addr = prefix.parse().unwrap();
                let six = Ipv6Addr::from_bits(prefix.to_bits() | number);
                prop_assert!(special(six.into()).is_some(), "{}", six);
            }
            let six_to_four = Ipv6Addr::from_bits(0x2002 << 112 | number << 80 | 1);
            prop_assert!(special(six_to_four.into()).is_some());
        }
    }
}
