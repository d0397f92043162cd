/* SPDX-FileCopyrightText: 2026 The shunt authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A stranger's program in C: both interfaces for C compile and link from what is installed, with
 * device code or without.
 */
#include <shunt/device.h>
#include <shunt/shunt.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  if (shunt_api_version() != SHUNT_API_VERSION) return 1;
  shunt_world* world = NULL;
  if (shunt_world_single(&world) != SHUNT_OK) return 1;
  const int size = shunt_world_size(world);
  shunt_world_destroy(world);
  const shunt_status device = shunt_device_available();
  if (device != SHUNT_OK && (device != SHUNT_UNSUPPORTED || strlen(shunt_last_error()) == 0)) {
    return 1;
  }
  if (shunt_device_wait(NULL, NULL) != SHUNT_INVALID_ARGUMENT) return 1;
  printf("shunt: interface %d, world of %d\n", SHUNT_API_VERSION, size);
  return 0;
}
