import { queue } from '../../platform/jobs.ts'

/** The platform knows a template differently than we do: fetch them anew. */
export const syncQueue = queue<{ businessId: string }>('chat_sync_templates')
