*** Settings ***
Documentation       A service with more endpoints than one group is for: all of them answer, and one less is a small change.
Resource            ../resources/coeus.resource
Library             Collections
Library             ../libraries/Services.py
Suite Setup         Start Two Nodes With Many Servers
Suite Teardown      Stop All

*** Variables ***
${WEB}              5e1f0000-0000-4000-8000-000000000031
${EACH}             36
${WAIT}             wait=programmed&timeout=10s
${SERVICES}         ${CONFIG}/service:service-information/services
${ENDPOINTS}        ${CONFIG}/service:endpoints-info/endpoints

*** Test Cases ***
All Endpoints Answer
    ${body}=    Service Body    ${WEB}    web    blue    10.96.0.10    :TCP:80:8080
    PUT On Session    coeus    ${SERVICES}/${WEB}    json=${body}    expected_status=201
    Put Endpoints    ${ALL}    201
    ${answers}=    Service Should Answer    blue:c1    10.96.0.10    80    times=800    all_of_them=${False}
    ${count}=    Get Length    ${answers}
    Should Be True    ${count} >= 2 * ${EACH} - 2
    ${most}=    Evaluate    max($answers.values())
    Should Be True    ${most} < 40

One Less Is Two Groups
    ${before}=    Switch Leaf    1    group-mods
    Put Endpoints    ${ALL}[1:]    200
    Wait Until Keyword Succeeds    5 s    200 ms    Leaf Should Have Grown By    1    group-mods    ${before}    2
    ${left}=    Evaluate    [f"blue:w1x{n}" for n in range(1, ${EACH})] + [f"blue:w2x{n}" for n in range(${EACH})]
    Wait Until Keyword Succeeds    5 s    500 ms
    ...    Service Should Answer    blue:c1    10.96.0.10    80    among=${left}    times=300    all_of_them=${False}

A Restart Sends Nothing
    Stop Controller
    Start Controller
    Tables Should Be As From Scratch
    Put Endpoints    ${ALL}    200
    ${answers}=    Service Should Answer    blue:c1    10.96.0.10    80    times=100    all_of_them=${False}
    Tables Should Be As From Scratch

*** Keywords ***
Start Two Nodes With Many Servers
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Create And Plug Pod    c1    blue    1    10.11.1.10    10.11.1.1
    @{all}=    Create List
    FOR    ${node}    IN    1    2
        FOR    ${number}    IN RANGE    ${EACH}
            ${address}=    Set Variable    10.11.${node}.${${number} + 20}
            Create And Plug Pod    w${node}x${number}    blue    ${node}    ${address}    10.11.${node}.1
            Start Server    blue:w${node}x${number}    TCP    8080
            Append To List    ${all}    ${address}
        END
    END
    Set Suite Variable    ${ALL}    ${all}
    Ping Should Pass    blue:c1    10.11.2.20    30
    Ping Should Pass    blue:c1    ${all}[-1]    30

Put Endpoints
    [Arguments]    ${addresses}    ${expected}
    ${body}=    Endpoints Body    ${WEB}    web    blue    ${addresses}    :TCP:8080
    PUT On Session    coeus    ${ENDPOINTS}/${WEB}    json=${body}    params=${WAIT}    expected_status=${expected}

Leaf Should Have Grown By
    [Arguments]    ${node}    ${leaf}    ${before}    ${wanted}
    ${after}=    Switch Leaf    ${node}    ${leaf}
    Should Be Equal As Integers    ${{int($after) - int($before)}}    ${wanted}

Stop All
    Stop Servers
    Stop Lab
