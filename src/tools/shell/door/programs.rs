//! Programs that say by their names what they are for.

/// Programs whose only use is another machine, or the machine's own network.
pub(super) const NETWORK: &[&str] = &[
    "aria2c",
    "arp",
    "axel",
    "curl",
    "dig",
    "ftp",
    "host",
    "http",
    "https",
    "ifconfig",
    "ip",
    "ipconfig",
    "iwconfig",
    "lftp",
    "links",
    "lynx",
    "mosh",
    "mtr",
    "nc",
    "ncat",
    "netcat",
    "netstat",
    "nmap",
    "nslookup",
    "ping",
    "ping6",
    "rlogin",
    "route",
    "rsh",
    "scp",
    "sftp",
    "socat",
    "ss",
    "ssh",
    "ssh-keyscan",
    "tcpdump",
    "telnet",
    "tftp",
    "tracepath",
    "traceroute",
    "w3m",
    "wget",
    "whois",
];

/// Programs that may reach another machine, and do if an argument names one.
pub(super) const MAY_REACH: &[&str] = &[
    "apt", "apt-get", "cargo", "composer", "gem", "gh", "git", "go", "hg", "npm", "npx", "openssl", "pip", "pip3",
    "pnpm", "rsync", "svn", "uv", "yarn",
];

/// Programs that change the machine, its users, or what other programs may.
pub(super) const PRIVILEGE: &[&str] = &[
    "adduser",
    "apk",
    "apt",
    "apt-get",
    "at",
    "aptitude",
    "bcdedit",
    "chpasswd",
    "chroot",
    "crontab",
    "deluser",
    "dnf",
    "docker",
    "dpkg",
    "doas",
    "fdisk",
    "groupadd",
    "groupdel",
    "halt",
    "init",
    "insmod",
    "ip6tables",
    "iptables",
    "kexec",
    "kubectl",
    "losetup",
    "modprobe",
    "mount",
    "net",
    "netsh",
    "nft",
    "nsenter",
    "pacman",
    "parted",
    "passwd",
    "pkexec",
    "podman",
    "poweroff",
    "reboot",
    "reg",
    "rmmod",
    "runas",
    "runuser",
    "schtasks",
    "service",
    "setcap",
    "setenforce",
    "shutdown",
    "su",
    "sudo",
    "swapoff",
    "swapon",
    "sysctl",
    "systemctl",
    "telinit",
    "ufw",
    "umount",
    "unshare",
    "useradd",
    "userdel",
    "usermod",
    "visudo",
    "wipefs",
    "yum",
    "zypper",
];

/// Shells.
pub(super) const SHELLS: &[&str] = &["ash", "bash", "dash", "fish", "ksh", "mksh", "rbash", "sh", "zsh"];

/// Programs that run code which is an argument, and the option that it follows.
pub(super) const INTERPRETERS: &[(&str, &[&str])] = &[
    ("lua", &["-e"]),
    ("node", &["-e", "-p", "--eval", "--print"]),
    ("perl", &["-e", "-E"]),
    ("php", &["-r"]),
    ("python", &["-c"]),
    ("python2", &["-c"]),
    ("python3", &["-c"]),
    ("ruby", &["-e"]),
];

/// What code says that reaches another machine.
pub(super) const REACHING_CODE: &[&str] = &[
    "TCPSocket",
    "UDPSocket",
    "aiohttp",
    "fsockopen",
    "ftplib",
    "http.client",
    "http.get",
    "https.get",
    "httpx",
    "import requests",
    "inet_aton",
    "io::socket",
    "lwp::",
    "net.connect",
    "net.createconnection",
    "net/http",
    "paramiko",
    "requests.",
    "smtplib",
    "socket(",
    "socket.",
    "import socket",
    "use socket",
    "open-uri",
    "stream_socket_client",
    "urllib",
    "urlopen",
    "xmlhttprequest",
];

/// What code says that runs a command.
pub(super) const RUNNING_CODE: &[&str] = &[
    "child_process",
    "os.popen",
    "os.system",
    "passthru(",
    "pty.spawn",
    "shell_exec",
    "subprocess",
    "system(",
    "exec(",
    "popen(",
];

/// Programs that run the command that their arguments are, and their options that take a value.
pub(super) const WRAPPERS: &[(&str, &str)] = &[
    ("builtin", ""),
    ("busybox", ""),
    ("chronic", ""),
    ("command", ""),
    ("env", "uCS"),
    ("exec", "a"),
    ("ionice", "cnp"),
    ("nice", "n"),
    ("nohup", ""),
    ("setsid", ""),
    ("stdbuf", "ioe"),
    ("time", "fo"),
    ("timeout", "ks"),
    ("toybox", ""),
    ("watch", "nd"),
    ("xargs", "EIILnPsad"),
];

/// Words that a command may begin with, after which the command itself comes.
pub(super) const OPENERS: &[&str] = &["!", "do", "elif", "else", "if", "then", "until", "while", "{"];

/// Words that begin what is no command, and end what was.
pub(super) const KEYWORDS: &[&str] =
    &["((", "[", "[[", "case", "done", "esac", "fi", "for", "function", "select", "test", "}"];

/// Programs whose arguments name no files.
pub(super) const SAY: &[&str] = &[
    ":", "alias", "basename", "break", "date", "dirname", "echo", "exit", "export", "expr", "false", "kill", "let",
    "printf", "read", "return", "seq", "set", "shift", "sleep", "trap", "true", "unset", "which", "yes",
];

/// Programs whose first argument is a pattern or a program, not a file.
pub(super) const PATTERN_FIRST: &[&str] =
    &["ag", "awk", "egrep", "fgrep", "gawk", "grep", "jq", "mawk", "perl", "rg", "sed", "tr", "yq"];

/// Programs that write to the files that they are given.
pub(super) const WRITERS: &[&str] = &[
    "chgrp", "chmod", "chown", "cp", "dd", "install", "ln", "mkdir", "mkfifo", "mknod", "mv", "rm", "rmdir", "rsync",
    "shred", "tee", "touch", "truncate", "unlink",
];
