import { describe } from 'vitest'
import { platformContract } from '../../../../test/support/platform.contract.ts'
import { platform } from './linux.ts'

describe.runIf(process.platform === 'linux')('Linux', () => {
  platformContract('linux', platform, new URL('./linux.ts', import.meta.url))
})
