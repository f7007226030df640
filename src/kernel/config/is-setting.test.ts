import fc from 'fast-check'
import { Check } from 'typebox/schema'
import { test } from 'vitest'
import { isSetting } from './config.ts'
import { SETTING_NAMES, Settings } from './settings.ts'

const texts = fc.oneof(
  fc.string({ maxLength: 80 }),
  fc.webUrl(),
  fc.domain(),
  fc.stringMatching(/^[0-9a-f]{63,65}$/),
  fc.constantFrom(
    '',
    'info',
    'disk',
    'X-Token',
    'Host',
    'toolroom.lan:8665',
    'x'.repeat(255),
    'x'.repeat(4097),
  ),
)
const values = fc.oneof(
  texts,
  fc.array(texts, { maxLength: 60 }),
  fc.integer(),
  fc.integer({ min: -1, max: 70_000 }),
  fc.double(),
  fc.boolean(),
  fc.constantFrom(null, undefined, {}),
)

test.each(SETTING_NAMES)(
  'the check of %s accepts and refuses the same values as a JSON Schema validator',
  (name) => {
    const schema = Settings.properties[name]
    fc.assert(fc.property(values, (value) => isSetting(schema, value) === Check(schema, value)))
  },
)
