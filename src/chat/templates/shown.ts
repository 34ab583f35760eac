import type { Template } from './template.ts'

/** A template as the API and the events show it. */
export const shownTemplate = (template: Template) => ({
  _id: template.id,
  id: template.platformId,
  name: template.name,
  language: template.language,
  category: template.category,
  status: template.status,
  parameter_format: template.parameterFormat,
  components: template.components,
  quality: template.quality,
  rejected_reason: template.rejectedReason,
  version: template.version,
  createdAt: template.createdAt,
  updatedAt: template.updatedAt,
})
