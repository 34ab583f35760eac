// Writes docs/api.md, the list of every route, from the routes pages: npm run docs
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serviceNames } from '../src/platform/config.ts'
import type { Platform } from '../src/platform/platform.ts'
import { chooseServices } from '../src/services.ts'

const services = chooseServices(serviceNames, () => undefined as unknown as Platform).filter(
  service => service.routes.length > 0,
)
const sections = services.map(service => {
  const lines = service.routes.map(
    ([method, path, endpoint]) => `| \`${method} ${path}\` | ${endpoint.summary.replaceAll('|', '\\|')} |`,
  )
  return `## ${service.title}\n\nBase URL \`${service.base}\`\n\n| Route | What it does |\n|---|---|\n${lines.join('\n')}\n`
})
const text = `# Every route\n\nMade from the routes pages by \`npm run docs\`; a running copy shows shapes and limits at \`/docs\`.\n\n${sections.join('\n')}`
writeFileSync(join(import.meta.dirname, '../docs/api.md'), text)
