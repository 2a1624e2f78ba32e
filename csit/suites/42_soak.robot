*** Settings ***
Documentation       Random pods, services, policies and restarts for a while (robot -v SECONDS:3600 for an hour): at each checkpoint switches hold what follows from the data
...                 alone, and the controller does not grow. COEUS_SEED=N repeats a run.
Library             ../libraries/Soak.py
Test Teardown       End Soak

*** Variables ***
${SECONDS}          30

*** Test Cases ***
Switches Are Right At Each Checkpoint
    ${code}    ${said}=    Soak    ${SECONDS}    2    20    --every    5    --restart-after    2
    Log    ${said}    console=True
    Should Be Equal As Integers    ${code}    0    ${said}
    Should Contain    ${said}    flat

A Switch That Is Not Right Is Found
    [Documentation]    Nobody puts right what somebody else adds: the comparison fails.
    ${code}    ${said}=    Soak With A Wrong Flow    10
    Should Be Equal As Integers    ${code}    1    ${said}
    Should Contain    ${said}    differs from what follows from the data
    Should Contain    ${said}    table=100, priority=7
