import type { RequirementId } from '../requirements.ts'

/**
 * Cites the sentences of the specification that a test verifies: `covers('auth-4-missing-401')`.
 * It does nothing at run time; `test/requirements.test.ts` reads the source, and a misspelt id does not compile.
 * Write the ids as string literals, because they are found by reading the source.
 */
export function covers(..._ids: readonly [RequirementId, ...RequirementId[]]): void {}
