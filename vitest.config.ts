import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/database.ts'],
    pool: 'forks',
    // One more than there are cores to be had in the least case: tests with real processes wait much of their time.
    maxWorkers: 3,
    // Tests with real processes, kills and leases may lose a race on a crowded machine; one that fails every time is broken.
    retry: process.env.CI ? 2 : 0,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default'],
  },
})
