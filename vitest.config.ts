import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/database.ts'],
    pool: 'forks',
    // Loading the program anew for every file took a third of the time. Each file has a world of its own, and sets back what it changes of the process.
    isolate: false,
    // One more than there are cores to be had in the least case: tests with real processes wait much of their time.
    maxWorkers: 3,
    // Tests with real processes, kills and leases may lose a race on a crowded machine; one that fails every time is broken.
    retry: process.env.CI ? 2 : 0,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default'],
  },
})
