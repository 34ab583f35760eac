import type { Route } from '../platform/endpoint.ts'

/** The API of this service, in the order of its specification, then what is ours besides. */
export const chatRoutes: readonly Route[] = []
