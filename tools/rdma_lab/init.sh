#!/bin/busybox sh
# The first process of a machine of the RDMA lab. It puts a layer of memory over the host's file system, which stays as
# it is, and runs /lab/script there. /lab is the one directory that the machine and the host share; script and number
# are the host's, output and exit are written here.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in /modules/*; do insmod "$module" || echo "init: no $module"; done
mkdir -p /host /scratch /new /dev/shm /dev/pts
mount -t 9p -o trans=virtio,version=9p2000.L,cache=loose,msize=512000,ro host /host
mount -t tmpfs tmpfs /scratch
mkdir /scratch/upper /scratch/work
mount -t overlay -o lowerdir=/host,upperdir=/scratch/upper,workdir=/scratch/work overlay /new
# What is written is the host's at once.
mkdir -p /new/lab
mount -t 9p -o trans=virtio,version=9p2000.L,cache=none,msize=512000 lab /new/lab || poweroff -f
mount -t tmpfs tmpfs /dev/shm
chmod 1777 /dev/shm
mount -t devpts devpts /dev/pts
mount -t proc proc /new/proc
mount -t sysfs sys /new/sys
mount --rbind /dev /new/dev
hostname "lab$(cat /new/lab/number)"
# Names are those of the lab, and no server is asked for others.
printf '127.0.0.1 localhost\n::1 localhost\n10.79.0.1 lab1\n10.79.0.2 lab2\n' > /new/etc/hosts
sed -i 's/^hosts:.*/hosts: files/' /new/etc/nsswitch.conf
# UCX takes another entry of the device's table of addresses by itself than the one that its peer can reach.
chroot /new /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
  UCX_IB_GID_INDEX=0 /bin/bash -c '. /lab/network && exec /bin/bash /lab/script' < /dev/null >> /new/lab/output 2>&1
echo $? > /new/lab/exit
poweroff -f
