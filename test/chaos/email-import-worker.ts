import { runImport } from '../../src/email/import/import.ts'
import { buildPlatform } from '../../src/platform/build.ts'
import { readConfig } from '../../src/platform/config.ts'
import { createLog } from '../../src/platform/log.ts'

/** A process that only merges one import, to be killed by tests: node email-import-worker.ts <database url> <business id> <import id> */
const [databaseUrl = '', businessId = '', importId = ''] = process.argv.slice(2)
const platform = await buildPlatform(readConfig({ PENNYPOST_POOL_SIZE: '4' }), {
  databaseUrl,
  masterKey: Buffer.alloc(32, 7),
  worker: false,
  log: createLog(process.env.TEST_LOG ?? 'silent'),
})
process.stdout.write('ready\n')
while (await runImport(platform, { id: businessId }, importId));
await platform.close()
