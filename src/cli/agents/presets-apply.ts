import type { Run } from '../frame/context.ts'
import { applyPreset } from './apply.ts'

/** `toolroom presets apply PRESET AGENT` */
export const run: Run = applyPreset
