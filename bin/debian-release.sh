# To be sourced: release DIRECTORY SUITE makes apt one of its own, below DIRECTORY, which knows one release of Debian (of
# the archive that this machine's apt is set to) and thinks that nothing is installed. apt checks signatures and sums as
# ever. Nothing of this machine's own apt is changed.

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

release() {
    local work=$1 suite=$2 archive
    # By the settings of this machine, also at the second time.
    archive=$(env -u APT_CONFIG bin/debian-archive)
    rm -rf "$work/apt"
    mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
    : > "$work/apt/status"
    echo "deb [signed-by=$keyring] $archive $suite main" > "$work/apt/sources.list"
    cat > "$work/apt/apt.conf" <<APT
Dir::State::Lists "$work/apt/lists";
Dir::State::Status "$work/apt/status";
Dir::Cache "$work/apt/cache";
Dir::Etc::SourceList "$work/apt/sources.list";
Dir::Etc::SourceParts "-";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
APT::Sandbox::User "$(id -un)";
APT
    export APT_CONFIG=$work/apt/apt.conf
    apt-get -q update >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "apt cannot read Debian $suite at $archive"; }
}
