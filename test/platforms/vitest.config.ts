import { mergeConfig } from 'vitest/config'
import config from '../../vitest.config.ts'

/** With the tests that only `npm run platforms` runs. */
export default mergeConfig(config, { test: { include: ['test/platforms/*.e2e.ts'] } })
