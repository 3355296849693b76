// SPDX-License-Identifier: Apache-2.0
// validate.js SCHEMA FILE...: one line a file, "FILE: ok" or "FILE: what is wrong".
'use strict';
const fs = require('fs');
const Ajv = require('ajv');

const read = (path) => JSON.parse(fs.readFileSync(path, 'utf8'));
const schema = read(process.argv[2]);
const ajv = new Ajv({ schemaId: 'auto', unknownFormats: 'ignore' });
ajv.addMetaSchema(require('ajv/lib/refs/json-schema-draft-04.json'));
const validate = ajv.compile(schema);

for (const file of process.argv.slice(3)) {
	let why = 'ok';
	try {
		if (!validate(read(file))) {
			const e = validate.errors[0];
			why = `${e.dataPath} ${e.message}`;
		}
	} catch (e) {
		why = String(e.message);
	}
	console.log(`${file}: ${why.split('\n')[0]}`);
}
