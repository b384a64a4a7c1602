# The RoCE device rxe0 of a machine of the lab, with the address 10.79.0.NUMBER: on a pair of virtual Ethernet cards, or,
# where two machines are joined, on the emulator's card. Ends when the device can be used.
ip link set lo up
card=$(ls /sys/class/net | grep -v -x lo | head -1)
if [ -z "$card" ]; then
  card=roce0
  # Room for RoCE's largest packet, 4096 bytes of payload.
  ip link add roce0 mtu 4200 type veth peer name roce1 mtu 4200 || exit 70
  ip link set roce1 up
fi
# No address is tried for seconds before it is used: nobody else is on this wire.
echo 0 > "/proc/sys/net/ipv6/conf/$card/accept_dad"
ip addr add "10.79.0.$(cat /lab/number)/24" dev "$card"
ip link set "$card" up
rdma link add rxe0 type rxe netdev "$card" || exit 70
for i in $(seq 100); do
  grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state && grep -q ffff: /sys/class/infiniband/rxe0/ports/1/gids/1 && return 0
  sleep 0.1
done
echo "network: rxe0 does not become active"
exit 70
