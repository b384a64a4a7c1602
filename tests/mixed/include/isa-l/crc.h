/* The function of ISA-L that libmad uses, for machines that Debian has no cross build of it for. */
#ifndef TESTS_MIXED_ISA_L_CRC_H
#define TESTS_MIXED_ISA_L_CRC_H

/* One bit after the other. */
inline unsigned crc32_iscsi(const unsigned char* data, int bytes, unsigned crc) {
  for (int i = 0; i < bytes; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
  }
  return crc;
}

#endif
