import type { RequirementId } from '../requirements.ts'

/**
 * Says which sentences of the specification a test holds: `covers('auth-4-missing-401')`.
 * It does nothing when it runs; `test/requirements.test.ts` reads it, and a misspelt id does not compile.
 * Write the ids as plain text, so that they can be found by reading.
 */
export function covers(..._ids: readonly [RequirementId, ...RequirementId[]]): void {}
