// Names that the runner needs in the global object of the code it runs. Nobody types them: U+0268 is for their i.
'use strict';

module.exports = {
  IMPORT: '\u0268mport', // stands for the word import, and is as long, so that columns stay
  INTERNAL: '\u0268nternal', // what evaluated texts call: see runner.js
};
