/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where parcels lie: in one growing array, those that are free in a list; and of each rank those
 * that have come and the receives that wait, each in a list, in their order.
 */
#include "sim/sim-inside.h"

static bool more_parcels(struct tt_sim *sim)
{
    uint32_t room = sim->parcel_room ? 2 * sim->parcel_room : 1024;
    struct tt_parcel *parcel = tt_realloc(sim->parcel, room * sizeof *parcel);
    if (!parcel) return false;
    sim->parcel = parcel;
    sim->parcel_room = room;
    if (sim->parcels == 0) sim->parcels = 1;
    return true;
}

uint32_t tt_parcel_new(struct tt_sim *sim, const struct tt_parcel *parcel)
{
    uint32_t place = sim->free_parcel;
    if (place)
        sim->free_parcel = sim->parcel[place].next;
    else if (sim->parcels < sim->parcel_room || more_parcels(sim))
        place = sim->parcels++;
    else
        tt_sim_out_of_memory(sim);
    if (place) sim->parcel[place] = *parcel;
    return place;
}

void tt_parcel_free(struct tt_sim *sim, uint32_t place)
{
    sim->parcel[place].next = sim->free_parcel;
    sim->free_parcel = place;
}

void tt_parcels_add(struct tt_sim *sim, struct tt_sim_rank *rank, int which, uint32_t place)
{
    sim->parcel[place].next = 0;
    if (rank->met[which])
        sim->parcel[rank->met_last[which]].next = place;
    else
        rank->met[which] = place;
    rank->met_last[which] = place;
}

/* Takes out the first from that rank and lane; 0: there is none. */
uint32_t tt_parcels_take(struct tt_sim *sim, struct tt_sim_rank *rank, int which, int from,
                         int lane)
{
    uint32_t before = 0, place = rank->met[which];
    while (place && (sim->parcel[place].from != from || sim->parcel[place].lane != lane)) {
        before = place;
        place = sim->parcel[place].next;
    }
    if (!place) return 0;
    uint32_t next = sim->parcel[place].next;
    if (before)
        sim->parcel[before].next = next;
    else
        rank->met[which] = next;
    if (rank->met_last[which] == place) rank->met_last[which] = before;
    return place;
}
