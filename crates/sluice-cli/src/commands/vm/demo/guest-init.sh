#!/bin/busybox sh
# First and only process of the demo's guest. It speaks to `sluice vm` by the second serial port:
# lines that begin with @sluice are its own, all others are what the command printed. Each of its
# own has a line end before it, as the command's last line may have none; `sluice vm` takes that
# away.
/bin/busybox --install -s /bin
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
mount -t tmpfs none /tmp
mkdir -p /dev/shm && mount -t tmpfs none /dev/shm
export PATH=/bin HOME=/tmp LD_LIBRARY_PATH=/lib
ip link set lo up
stty -F /dev/ttyS1 raw -echo
exec 3<>/dev/ttyS1

say() {
    printf '\n@sluice %s\n' "$*" >&3
}
fail() {
    say "failed $*"
    read -r answer <&3
    poweroff -f
    sleep 60
}
try() {
    "$@" >/tmp/log 2>&1 || fail "$*: $(tr '\n' ' ' </tmp/log)"
}
await() {
    for _ in $(seq 100); do
        [ -e "$1" ] && return
        sleep 0.05
    done
    fail "the guest's drivers do not find $1"
}

load() {
    while read -r module; do
        [ -e "/sys/module/${module%.ko}" ] || try insmod "/modules/$module"
    done <"/modules/$1"
}

attach=$(sed 's/.*sluice\.attach=\([a-z]*\).*/\1/' /proc/cmdline)
load "$attach"

bound=
case $attach in
numa)
    [ -d /sys/devices/system/node/node1 ] || fail "the guest's kernel has no node 1"
    bound="numactl --membind=1"
    list="numactl -H"
    ;;
dax)
    await /sys/bus/nd/devices/namespace0.0
    try ndctl create-namespace -f -e namespace0.0 -m devdax -M mem --no-autolabel
    list="daxctl list"
    ;;
cxl)
    await /sys/bus/cxl/devices/mem0
    await /sys/bus/cxl/devices/endpoint2
    try cxl create-region -m -t pmem -d decoder0.0 -w 1 mem0
    try ndctl create-namespace -m devdax -M mem
    list="cxl list -MDR"
    ;;
esac
if [ "$attach" != numa ]; then
    export DEVICE=/dev/dax0.0
    await $DEVICE
fi

if grep -q sluice.disk /proc/cmdline; then
    load disk
    for disk in /sys/block/vd*; do
        [ "$(cat "$disk/serial")" = sluice ] && export DISK="/dev/${disk##*/}"
    done
    [ -b "$DISK" ] || fail "the guest's drivers do not find the device as a disk"
fi

$list 2>&1 | while read -r line; do say "topology $line"; done
# Simulated, the figures are parted where the command begins and where it ends, and nobody is waited
# for: what the host does and when is no part of the simulation.
begin= end=
answered() {
    [ -n "$begin" ] || read -r answer <&3
}
if grep -q sluice.marks= /proc/cmdline; then
    marks=$(sed 's/.*sluice\.marks=\([a-z,-]*\).*/\1/' /proc/cmdline)
    begin="sluice guest-mark ${marks%,*}"
    end="sluice guest-mark ${marks#*,}"
fi

say "ready $(uname -r)"
answered
try $begin
$bound sh /command >&3 2>&3
status=$?
try $end
say "end $status"
answered
poweroff -f
sleep 60
