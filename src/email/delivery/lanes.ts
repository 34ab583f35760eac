/** Individual mail has connections of its own, so that it never waits behind a campaign. */
export type Lane = 0 | 1
export const individual: Lane = 0
export const campaign: Lane = 1
export const lanes: readonly Lane[] = [individual, campaign]
